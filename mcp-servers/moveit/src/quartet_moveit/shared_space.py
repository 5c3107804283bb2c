"""Arms of one place: two of them move at once only where bounds of their motions keep apart."""

import asyncio
import functools
import itertools
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quartet_contracts.tools.moveit import MoveitCode
from quartet_moveit.arm import arm_joints, moveit_code, run, verdict
from quartet_moveit.codes import SUCCESS, name_of
from quartet_robot_link import Message, MotionOutcome, Robot
from quartet_robot_link.geometry import Vector
from quartet_safety.motion import MotionLease
from quartet_site import RobotFile
from quartet_tool_server import ToolError, ToolServer

APART_M = 0.03
"""Distance that the bounds of two motions keep from each other [m]."""
STEP_RAD = 0.2
"""Greatest turn of a joint between two samples of a trajectory; 1 m from it, the way bulges by 5 mm."""
POLL_S = 0.05
KEPT = 100
"""Motions that are remembered; a plan is executed long before as many came after it."""


@dataclass(frozen=True)
class Box:
    """A box along the axes of the map [m]."""

    low: Vector
    high: Vector

    def meets(self, other: "Box") -> bool:
        """Return whether another box is nearer than APART_M."""
        return all(
            low < high + APART_M and other_low < own_high + APART_M
            for low, high, other_low, own_high in zip(self.low, other.high, other.low, self.high, strict=True)
        )

    @classmethod
    def around(cls, points: Iterable[Vector], radius: float) -> "Box":
        """Return the box that has all that is within `radius` of the points [m]."""
        axes = [(min(values) - radius, max(values) + radius) for values in zip(*points, strict=True)]
        (x0, x1), (y0, y1), (z0, z1) = axes
        return cls((x0, y0, z0), (x1, y1, z1))


@dataclass(eq=False)
class Motion:
    """A motion of one arm. `swept` bounds it from begin to end, `rest` bounds the arm at its end."""

    robot: str
    place: str
    swept: Sequence[Box]
    rest: Sequence[Box]
    ended: float = math.inf
    """Number of the event that ended it."""


class SharedSpace:
    """The motions of all arms that one process serves."""

    def __init__(self) -> None:
        self._motions: list[Motion] = []
        self._arms: set[tuple[str, str]] = set()
        self.now = 0
        """Number of the last event: a begin or an end of a motion."""

    def join(self, robot: RobotFile, place: str) -> None:
        """Take in an arm of a place, if its file has `bounds_m`; others are not checked."""
        if robot.arm.bounds_m:
            self._arms.add((robot.name, place))

    def is_shared(self, robot: str, place: str) -> bool:
        """Return whether this arm and another one of its place have joined."""
        others = {name for name, where in self._arms if where == place}
        return robot in others and len(others) > 1

    def begin(self, motion: Motion, since: int) -> bool:
        """Begin a motion that was planned after event `since`; return False if it has to wait until another one ends.

        Raises ToolError PLAN_OUTDATED if another arm has moved into its way since it was planned.
        """
        others = [
            one
            for one in self._motions
            if one.robot != motion.robot and one.place == motion.place and one.ended > since
        ]
        if any(one.ended == math.inf and _meet(motion.swept, one.swept) for one in others):
            return False
        if blocking := next((one for one in others if one.ended < math.inf and _meet(motion.swept, one.rest)), None):
            raise ToolError(
                f"{blocking.robot} has moved near the path since it was planned; plan again. Nothing moved.",
                code=MoveitCode.PLAN_OUTDATED,
            )
        self._motions = [*self._motions[-KEPT:], motion]
        self.now += 1
        return True

    def end(self, motion: Motion, *, completed: bool) -> None:
        """End a motion; one that was not completed may have left the arm anywhere on its way."""
        self.now += 1
        motion.ended = self.now
        if not completed:
            motion.rest = motion.swept


def _meet(some: Sequence[Box], others: Sequence[Box]) -> bool:
    return any(one.meets(other) for one in some for other in others)


SPACE = SharedSpace()
"""Of this process. Robots that other processes serve are not in it."""


async def execute(server: ToolServer, lease: MotionLease, goal: Message, since: int) -> MotionOutcome:
    """Execute a goal of ExecuteTrajectory, planned after event `since`, once no other arm moves near its way.

    Raises ToolError PLAN_OUTDATED if another arm has moved into the way, or moves there for longer than a motion may
    take, and what `bounds` and ToolServer.run_goal raise. An arm without another one in its place does not wait.
    """
    file, place = server.robot.file, server.site.name
    run_it = functools.partial(
        run,
        server,
        lease,
        file.actions.execute_trajectory,
        "ExecuteTrajectory",
        goal,
        limit_s=file.arm.motion_timeout_s,
    )
    if not SPACE.is_shared(file.name, place):
        return await run_it()
    rest, *swept = await lease.unless_canceled(bounds(server.robot, goal["trajectory"]))
    motion = Motion(file.name, place, [box for boxes in swept for box in boxes], rest)
    deadline = time.monotonic() + file.arm.motion_timeout_s
    while not SPACE.begin(motion, since):
        if time.monotonic() > deadline:
            raise ToolError(
                "another arm moves in the way for too long; plan again. Nothing moved.", code=MoveitCode.PLAN_OUTDATED
            )
        await lease.unless_canceled(asyncio.sleep(POLL_S))
    completed = False
    try:
        outcome = await run_it()
        completed = bool(verdict(outcome, planned=True)["executed"])
        return outcome
    finally:
        SPACE.end(motion, completed=completed)


async def bounds(robot: Robot, trajectory: Message) -> list[list[Box]]:
    """Return boxes around all links: at the end of a trajectory, then along each piece of it. Map frame [m].

    Raises ToolError ROS_ERROR, TransformUnavailableError, CallTimeoutError, BridgeUnavailableError.
    """
    to_map = (await robot.transform(robot.file.frames.map, robot.file.frames.base)).rigid
    path = trajectory.get("joint_trajectory") or {}
    order = [path["joint_names"].index(name) for name in robot.file.arm.joints]
    ways = [[float(point["positions"][at]) for at in order] for point in path.get("points") or []]
    samples = _sampled([await arm_joints(robot), *ways])
    found = await asyncio.gather(*(_link_points(robot, joints) for joints in samples))
    placed = [[to_map.apply(point) for point in points] for points in found]
    radii = list(robot.file.arm.bounds_m.values())

    def around(*places: list[Vector]) -> list[Box]:
        return [
            Box.around([place[link + end] for place in places for end in (0, 1)], radius)
            for link, radius in enumerate(radii)
        ]

    pieces = [around(one, other) for one, other in itertools.pairwise(placed)]
    return [around(placed[-1]), *(pieces or [around(placed[-1])])]


def _sampled(ways: list[list[float]]) -> list[list[float]]:
    """Return joint positions on the way between which each joint turns in one direction, by at most STEP_RAD."""
    found = ways[:1]
    for before, one, after in zip(ways, ways[1:], [*ways[2:], ways[-1]], strict=False):
        last = found[-1]
        turn = max(abs(a - b) for a, b in zip(one, last, strict=True))
        turns_back = any((b - a) * (c - b) < 0 for a, b, c in zip(before, one, after, strict=True))
        if turn < STEP_RAD and not turns_back and one is not ways[-1]:
            continue
        steps = max(1, math.ceil(turn / STEP_RAD))
        found += [[a + (b - a) * n / steps for a, b in zip(last, one, strict=True)] for n in range(1, steps + 1)]
    return found


async def _link_points(robot: Robot, joints: list[float]) -> list[Vector]:
    """Return the origins of the links and the finger tips at joint positions [rad], base frame [m]."""
    links = list(robot.file.arm.bounds_m)
    state = {"is_diff": True, "joint_state": {"name": list(robot.file.arm.joints), "position": joints}}
    request = {"header": {"frame_id": robot.file.frames.base}, "fk_link_names": links, "robot_state": state}
    answer = await robot.link.call_service(robot.file.services.compute_fk, request)
    if moveit_code(answer) != SUCCESS:
        raise ToolError(
            f"MoveIt does not tell where the links of arm.bounds_m are ({name_of(moveit_code(answer))}); "
            f"check their names in robot.yaml: {', '.join(links)}",
            code="ROS_ERROR",
        )
    poses = [stamped["pose"] for stamped in answer["pose_stamped"]]
    points: list[Vector] = [tuple(pose["position"][axis] for axis in "xyz") for pose in poses]  # type: ignore[misc]
    x, y, z, w = (float(poses[-1]["orientation"][axis]) for axis in "xyzw")
    along = (2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y))
    offset = robot.file.gripper.finger_offset_m
    tip = [a + offset * b for a, b in zip(points[-1], along, strict=True)]
    return [*points, (tip[0], tip[1], tip[2])]
