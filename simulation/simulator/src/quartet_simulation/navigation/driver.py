"""The base's channel: runs one behaviour at a time, limits acceleration, looks ahead for collisions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np

from quartet_simulation.arm.body import TICK
from quartet_simulation.arm.collision import OTHERS_MARGIN, CollisionWorld
from quartet_simulation.goal import Goal
from quartet_simulation.navigation.costmap import Costmap
from quartet_simulation.navigation.footprint import Footprint
from quartet_simulation.navigation.local_costmap import LocalCostmap
from quartet_simulation.navigation.planner import PathPlanner
from quartet_simulation.physics import Physics
from quartet_simulation.sensors.localisation import Localisation, Pose, compose

Twist = tuple[float, float, float]
LINEAR_ACCELERATION, ANGULAR_ACCELERATION = 1.2, 2.5
CMD_VEL_TIMEOUT = 0.5
STOPPED = (0.02, 0.03)
"""Below these speeds [m/s, rad/s] the base counts as standing."""
STEP = 0.02
"""Distance between two checks of a way [m]: no corner fits between them."""
BESIDE_ARM = 0.08
"""Where an arm has moved to, the box around it is free, and so much beside it [m]: the base can take it back."""
SEEN_MARGIN = 0.03
"""Kept from what the sensors show [m]: a scan is a centimetre off and 0.05 s old, in which a turn of 1.2 rad/s moves a
corner of the base by 3 cm. A low thing beside the base is where a camera saw it some metres ago."""
FEWEST = 2
"""A single point is noise, as `min_points` of Nav2's collision monitor has it."""
MAP_SLACK = 0.06
"""So far within the base something on the static map may be, where no sensor shows anything [m]: localisation errs by
as much, and in a doorway the posts are where they are seen."""
REACH = 0.60
"""From the robot's middle to its hand [m]: how far a turn moves it."""
ROUNDING = 1e-4
NEAREST = -0.010
"""A robot that has come so much nearer to something than it may be [m] does not go along it any more, but away."""
FORESEEN = 0.05
"""Time between two poses of a motion that is looked at beforehand [s]."""


class Behaviour(Protocol):
    """One running base action. `tick` gives the wanted twist, or None once the goal has been finished."""

    def tick(self, driver: BaseDriver, goal: Goal) -> Twist | None:
        """Advance control by one tick."""
        ...


class _Obstacles:
    """Points of base_footprint that the robot keeps away from.

    Args:
        distances: of points from the robot [m].
        points: (N, 2) or (N, 3) [m].
        kept: what is kept from each of them (N,) [m].
        fewest: so many of them must come too near.
    """

    def __init__(
        self, distances: Callable[[np.ndarray], np.ndarray], points: np.ndarray, kept: np.ndarray, fewest: int
    ) -> None:
        self._distances, self._points, self._kept, self._fewest = distances, points, kept, fewest
        self._room = distances(points) - kept
        self._here = float(_least(self._room, fewest))

    def met(self, poses: Sequence[Pose], length: float) -> bool:
        """Return whether the robot comes too near to them at a pose of a way of a length [m], and nearer than now."""
        if self._here >= length:
            return False
        # What is farther off than the way is long is not met on it.
        near = self._room < length
        points, kept = self._points[near], self._kept[near]
        x, y, yaw = np.array(poses).T[:, :, None]
        c, s, dx, dy = np.cos(yaw), np.sin(yaw), points[:, 0] - x, points[:, 1] - y
        there = np.empty((*dx.shape, points.shape[1]))
        there[..., 0], there[..., 1], there[..., 2:] = c * dx + s * dy, c * dy - s * dx, points[:, 2:]
        least = 0.0 if self._here > 0 else min(self._here, NEAREST) - ROUNDING
        return bool((_least(self._distances(there) - kept, self._fewest) < least).any())


class BaseDriver:
    """Moves the base: runs a behaviour, or follows velocities, within the acceleration limits."""

    def __init__(
        self,
        physics: Physics,
        localisation: Callable[[], Localisation],
        costmap: Costmap,
        local: LocalCostmap,
        footprint: Footprint,
        checks: CollisionWorld,
        held: Callable[[], str | None],
        known: Callable[[], np.ndarray],
    ) -> None:
        self.physics = physics
        self.base = physics.build.base
        """What drives, and how fast."""
        self.costmap = costmap
        self.planner = PathPlanner(costmap)
        self._localisation = localisation
        self._local, self._footprint = local, footprint
        self._checks = checks
        self._held = held
        self._known = known
        self._behaviour: Behaviour | None = None
        self._goal: Goal | None = None
        self._path = np.empty((0, 2))
        self._twist: Twist = (0.0, 0.0, 0.0)
        self._command: tuple[float, Twist] | None = None
        self._looked_at, self._obstacles = -1, list[_Obstacles]()

    @property
    def goal(self) -> Goal | None:
        """The goal that runs or ran last."""
        return self._goal

    @property
    def planned_path(self) -> np.ndarray:
        """The way that the running behaviour has planned and not driven yet: N x 2 [m] in map."""
        return self._path if self._goal is not None and not self._goal.done else self._path[:0]

    def follow(self, path: np.ndarray) -> None:
        """Note what is left of a behaviour's way, N x 2 [m] in map."""
        self._path = path

    @property
    def twist(self) -> Twist:
        """The twist that is being commanded now."""
        return self._twist

    def reset(self) -> None:
        """Forget goal and commands."""
        self._behaviour = self._goal = self._command = None
        self._twist = (0.0, 0.0, 0.0)
        self.forget_surroundings()

    def forget_surroundings(self) -> None:
        """Forget what the sensors have shown; what they show is marked again."""
        self._local.clear()
        self._looked_at = -1

    def start(self, behaviour: Behaviour, goal: Goal) -> None:
        """Begin a behaviour for a goal."""
        self._behaviour, self._goal, self._command = behaviour, goal, None
        self._path = np.empty((0, 2))

    def command_velocity(self, twist: Twist) -> None:
        """Follow a twist (m/s, m/s, rad/s) in base_footprint until it is stale."""
        self._command = (self.physics.time, twist)

    def brake_now(self) -> None:
        """Command the base to stand at once and forget behaviour and velocity."""
        self._behaviour = self._command = None
        self._twist = (0.0, 0.0, 0.0)
        self.physics.drive(0, 0, 0)

    # --- what behaviours use ----------------------------------------------------------------------
    def pose(self) -> Pose:
        """Estimated pose in map."""
        return self._localisation().estimate(self.physics.time)

    def odom(self) -> Pose:
        """Return the pose in odom (x, y, yaw)."""
        return self._localisation().odom()

    def standing(self) -> bool:
        """Return whether the base is measured to be at rest."""
        vx, vy, wz = self._localisation().twist(self.physics.base_twist(), self.physics.time)
        return math.hypot(vx, vy) < STOPPED[0] and abs(wz) < STOPPED[1]

    def blocked_along(self, way: Sequence[Pose]) -> bool:
        """Would the robot touch something on its way over poses in base_footprint, as far as its sensors show?

        A robot that stands too near to something already may still leave it: what counts is that it comes no nearer.
        What no sensor has seen, and is not on the static map, is really touched.
        """
        poses = _sampled(way)
        length = sum(_length(a, b) for a, b in pairwise([(0.0, 0.0, 0.0), *way]))
        if self._looked_at != self.physics.ticks:
            self._looked_at, self._obstacles = self.physics.ticks, self._look()
        return any(one.met(poses, length) for one in self._obstacles)

    def _look(self) -> list[_Obstacles]:
        """Return what may be met: what the sensors show, and what is on the static map."""
        around = self._local.look()
        if self._footprint.update():
            # What it reaches over is no higher, though the camera may not have seen it.
            low, high = self._footprint.arm_box
            self._local.free_box(low - BESIDE_ARM, high + BESIDE_ARM)
            around = self._local.look()
        kept = np.where(around.may_move, OTHERS_MARGIN, SEEN_MARGIN)
        slack = np.full(len(around.mapped), -MAP_SLACK)
        return [
            _Obstacles(self._footprint.from_body, around.seen, kept, FEWEST),
            _Obstacles(self._footprint.from_arm, around.seen, kept, FEWEST),
            _Obstacles(self._footprint.from_body, around.marked, np.full(len(around.marked), SEEN_MARGIN), 1),
            _Obstacles(self._footprint.from_body, around.mapped, slack, 1),
        ]

    def way_of(self, wanted: Twist, duration: float) -> list[Pose]:
        """Return the poses in base_footprint that the base passes when it goes over to a twist from its present one."""
        pose, twist, way = (0.0, 0.0, 0.0), self._twist, list[Pose]()
        for _ in range(math.ceil(duration / FORESEEN)):
            twist = _limit(twist, wanted, FORESEEN)
            pose = compose(pose, (twist[0] * FORESEEN, twist[1] * FORESEEN, twist[2] * FORESEEN))
            way.append(pose)
        return way

    def pose_is_free(self, pose: Pose) -> bool:
        """Would the robot, its arm as it is now, stand free at `pose` in map, as far as it sees?"""
        self._checks.load(self._known())
        self._checks.attach(self._held())
        self._checks.set_base(*pose)
        return not self._checks.colliding()

    # --- one tick ---------------------------------------------------------------------------------
    def tick(self) -> None:
        """Advance control by one tick."""
        wanted: Twist = (0.0, 0.0, 0.0)
        goal, behaviour = self._goal, self._behaviour
        if goal is not None and behaviour is not None and not goal.done:
            if goal.cancel_requested:
                if self.standing():
                    goal.finish("CANCELED", self.physics.time, 0, "canceled")
            else:
                wanted = behaviour.tick(self, goal) or wanted
        elif self._command is not None:
            stamp, twist = self._command
            if self.physics.time - stamp > CMD_VEL_TIMEOUT:
                self._command = None
            else:
                wanted = twist
        self._twist = _limit(self._twist, self.base.driven(wanted))
        self.physics.drive(*self._twist)


def _least(rooms: np.ndarray, number: int) -> np.ndarray:
    """Return the least of the rooms (..., N) but for number - 1; infinite where there are fewer."""
    if rooms.shape[-1] < number:
        return np.full(rooms.shape[:-1], np.inf)
    return np.partition(rooms, number - 1, axis=-1)[..., number - 1]


def _length(a: Pose, b: Pose) -> float:
    """Return how far a part of the robot moves at most between two poses [m]."""
    return math.hypot(b[0] - a[0], b[1] - a[1]) + REACH * abs(b[2] - a[2])


def _sampled(way: Sequence[Pose]) -> list[Pose]:
    """Return poses of a way from where the robot is, STEP apart at most."""
    poses: list[Pose] = []
    for a, b in pairwise([(0.0, 0.0, 0.0), *way]):
        count = max(1, math.ceil(_length(a, b) / STEP))
        shares = [number / count for number in range(1, count + 1)]
        poses += [(a[0] + f * (b[0] - a[0]), a[1] + f * (b[1] - a[1]), a[2] + f * (b[2] - a[2])) for f in shares]
    return poses


def _limit(now: Twist, wanted: Twist, duration: float = TICK) -> Twist:
    """Move the commanded twist towards the wanted one within the acceleration limits."""
    dx, dy = wanted[0] - now[0], wanted[1] - now[1]
    length, room = math.hypot(dx, dy), LINEAR_ACCELERATION * duration
    # Braking may be twice as hard as speeding up.
    if math.hypot(*wanted[:2]) < math.hypot(*now[:2]):
        room *= 2
    scale = 1.0 if length <= room else room / length
    turn = ANGULAR_ACCELERATION * duration * (2 if abs(wanted[2]) < abs(now[2]) else 1)
    return now[0] + dx * scale, now[1] + dy * scale, now[2] + max(-turn, min(turn, wanted[2] - now[2]))
