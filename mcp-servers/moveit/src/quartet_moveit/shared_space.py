"""Arms of one place: two of them move at once only where bounds of their motions keep apart."""

import asyncio
import itertools
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from quartet_contracts.tools.moveit import MoveitCode
from quartet_contracts.tools.results import CommonCode
from quartet_moveit.arm import arm_joints, moveit_code, run, verdict
from quartet_moveit.codes import SUCCESS, name_of
from quartet_moveit.requests import state_at
from quartet_robot_link import BridgeUnavailableError, CallTimeoutError, Message, MotionOutcome, Robot
from quartet_robot_link.geometry import Rigid, Vector
from quartet_safety.motion import MotionLease
from quartet_tool_server import ToolError, ToolServer

APART_M = 0.03
"""Distance that the bounds of two motions keep from each other [m]."""
STEP_RAD = 0.1
"""Greatest turn of a joint between two samples of a trajectory: bends of 0.3 rad bulge by up to 2 cm, 1.2 m away."""
POLL_S = 0.05
KEPT = 100
"""Motions that are remembered; a plan is executed long before as many came after it."""

Outdate = Callable[[str], None]
Box = tuple[Vector, Vector]
"""Lowest and highest corner of a box along the axes of the map [m]."""


@dataclass(eq=False)
class Motion:
    """A motion of one arm. `boxes` bound it, `rest` bounds the arm where it comes to rest."""

    robot: str
    place: str
    boxes: Sequence[Box]
    rest: Sequence[Box]
    ended: float = math.inf
    """Number of the event that ended it."""


@dataclass
class SharedSpace:
    """The motions of all arms that one process serves."""

    now: int = 0
    """Number of the last event: a begin or an end of a motion."""
    motions: list[Motion] = field(default_factory=list[Motion])
    arms: dict[tuple[str, str], Outdate] = field(default_factory=dict[tuple[str, str], Outdate])
    """By place and robot: what outdates the plans that wait for their execution."""

    def is_shared(self, robot: str, place: str) -> bool:
        """Return whether this arm and another one of its place are in it."""
        return (place, robot) in self.arms and any(one == place and name != robot for one, name in self.arms)

    def begin(self, motion: Motion, since: int) -> bool:
        """Begin a motion that was planned after event `since`; return False if it has to wait until another one ends.

        Raises ToolError PLAN_OUTDATED if another arm has come to rest in its way since it was planned.
        """
        newest = {one.robot: one for one in self.motions if one.place == motion.place and one.robot != motion.robot}
        for one in newest.values():
            if one.ended > since and _meet(motion.boxes, one.boxes if one.ended == math.inf else one.rest):
                if one.ended == math.inf:
                    return False
                raise _outdated(f"{one.robot} has moved near the path since it was planned")
        self.motions = [*self.motions[-KEPT:], motion]
        self._count(motion)
        return True

    def end(self, motion: Motion, *, completed: bool) -> None:
        """End a motion; one that was not completed may have left the arm anywhere on its way."""
        self._count(motion)
        motion.ended = self.now
        motion.rest = motion.rest if completed else motion.boxes

    def _count(self, motion: Motion) -> None:
        self.now += 1
        for (place, robot), outdate in self.arms.items():
            if place == motion.place and robot != motion.robot:
                outdate(f"{motion.robot} has moved")


SPACE = SharedSpace()
"""Of this process. Robots that other processes serve are not in it."""


def _outdated(why: str) -> ToolError:
    return ToolError(f"{why}; plan again. Nothing moved.", code=MoveitCode.PLAN_OUTDATED)


def _meet(some: Iterable[Box], others: Sequence[Box]) -> bool:
    return any(
        all(a < d + APART_M and c < b + APART_M for a, b, c, d in zip(*one, *other, strict=True))
        for one in some
        for other in others
    )


async def execute(server: ToolServer, lease: MotionLease, goal: Message, since: int) -> MotionOutcome:
    """Execute a goal of ExecuteTrajectory, planned after event `since`, once no other arm moves near its way.

    Raises ToolError PLAN_OUTDATED if another arm has moved into the way, or moves there for longer than a motion may
    take, and what `bounds` and ToolServer.run_goal raise. An arm without another one in its place does not wait.
    """
    file, place = server.robot.file, server.site.name
    limit_s, action = file.arm.motion_timeout_s, file.actions.execute_trajectory
    move = partial(run, server, lease, action, "ExecuteTrajectory", goal, limit_s=limit_s)
    if not SPACE.is_shared(file.name, place):
        return await move()
    boxes = await lease.unless_canceled(bounds(server.robot, goal["trajectory"]))
    motion, deadline = Motion(file.name, place, boxes, boxes[-len(file.arm.bounds_m) :]), time.monotonic() + limit_s
    while not SPACE.begin(motion, since):
        if time.monotonic() > deadline:
            raise _outdated("another arm moves in the way for too long")
        await lease.unless_canceled(asyncio.sleep(POLL_S))
    try:
        outcome = await move()
    except (CallTimeoutError, BridgeUnavailableError):
        # The arm may move on until the guard, without heartbeats of this call, has brought it to a standstill.
        limits = file.heartbeat
        rest_s = limits.guard_timeout_s + 2 * limits.every_s
        asyncio.get_running_loop().call_later(rest_s, partial(SPACE.end, motion, completed=False))
        raise
    except BaseException:
        SPACE.end(motion, completed=False)
        raise
    SPACE.end(motion, completed=bool(verdict(outcome, planned=True)["executed"]))
    return outcome


async def bounds(robot: Robot, trajectory: Message) -> list[Box]:
    """Return boxes around each link along a trajectory, those at its end last. Map frame [m].

    Raises ToolError ROS_ERROR, TransformUnavailableError, CallTimeoutError, BridgeUnavailableError.
    """
    to_map = (await robot.transform(robot.file.frames.map, robot.file.frames.base)).rigid
    path = trajectory["joint_trajectory"]
    order = [path["joint_names"].index(name) for name in robot.file.arm.joints]
    ways = [[float(point["positions"][at]) for at in order] for point in path["points"]]
    samples = _sampled([await arm_joints(robot), *ways])
    placed = await asyncio.gather(*(_link_points(robot, to_map, joints) for joints in samples))
    return [
        _around([*one[link : link + 2], *other[link : link + 2]], radius)
        for one, other in itertools.pairwise([*placed, placed[-1]])
        for link, radius in enumerate(robot.file.arm.bounds_m.values())
    ]


def _around(points: Sequence[Vector], radius: float) -> Box:
    xs, ys, zs = zip(*points, strict=True)
    low = min(xs) - radius, min(ys) - radius, min(zs) - radius
    return low, (max(xs) + radius, max(ys) + radius, max(zs) + radius)


def _sampled(ways: list[list[float]]) -> list[list[float]]:
    """Return joint positions on the way between which each joint turns in one direction, by at most STEP_RAD."""
    found = ways[:1]
    for one, after in zip(ways[1:], [*ways[2:], ways[-1]], strict=True):
        last = found[-1]
        turn = max(abs(a - b) for a, b in zip(one, last, strict=True))
        # Since the last sample, not since the point before: a joint may rest for a point before it turns back.
        turns_back = any((b - a) * (c - b) < 0 for a, b, c in zip(last, one, after, strict=True))
        if turn >= STEP_RAD or turns_back or one is ways[-1]:
            steps = max(1, math.ceil(turn / STEP_RAD))
            found += [[a + (b - a) * n / steps for a, b in zip(last, one, strict=True)] for n in range(1, steps + 1)]
    return found


async def _link_points(robot: Robot, to_map: Rigid, joints: list[float]) -> list[Vector]:
    """Return the origins of the links and the finger tips at joint positions [rad], map frame [m]."""
    links = list(robot.file.arm.bounds_m)
    header = {"frame_id": robot.file.frames.base}
    request = {"header": header, "fk_link_names": links, "robot_state": state_at(robot, joints)}
    answer = await robot.link.call_service(robot.file.services.compute_fk, request)
    if (code := moveit_code(answer)) != SUCCESS:
        raise ToolError(
            f"MoveIt does not tell where the links of arm.bounds_m are ({name_of(code)}); "
            f"check their names in robot.yaml: {', '.join(links)}",
            code=CommonCode.ROS_ERROR,
        )
    poses = [stamped["pose"] for stamped in answer["pose_stamped"]]
    placed = [to_map @ _rigid(pose["position"], pose["orientation"]) for pose in poses]
    return [*(one.translation for one in placed), placed[-1].apply((0.0, 0.0, robot.file.gripper.finger_offset_m))]


def _rigid(p: Message, q: Message) -> Rigid:
    return Rigid((p["x"], p["y"], p["z"]), (q["x"], q["y"], q["z"], q["w"]))
