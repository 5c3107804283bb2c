"""The base's channel: runs one behaviour at a time, limits acceleration, looks ahead for collisions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from quartet_simulation.arm.body import TICK
from quartet_simulation.arm.collision import CollisionWorld
from quartet_simulation.goal import Goal
from quartet_simulation.navigation.costmap import Costmap
from quartet_simulation.navigation.planner import PathPlanner
from quartet_simulation.physics import Physics
from quartet_simulation.sensors.localisation import Localisation, Pose, compose

Twist = tuple[float, float, float]
LINEAR_ACCELERATION, ANGULAR_ACCELERATION = 1.2, 2.5
CMD_VEL_TIMEOUT = 0.5
STOPPED = (0.02, 0.03)
"""Below these speeds [m/s, rad/s] the base counts as standing."""
STEP = 0.02
"""Distance between two checks of a way where something is near [m]: no corner fits between them."""
REACH = 0.60
"""From the robot's middle to its hand [m]: how far a turn moves it."""
ROUNDING = 1e-4
NEAREST = -0.010
"""A robot that has come so much nearer to something than it may be [m] does not go along it any more, but away."""
ELSEWHERE = 1000.0
"""How far away another robot or a person is put whom this one does not see [m]."""
FORESEEN = 0.05
"""Time between two poses of a motion that is looked at beforehand [s]."""


class Behaviour(Protocol):
    """One running base action. `tick` gives the wanted twist, or None once the goal has been finished."""

    def tick(self, driver: BaseDriver, goal: Goal) -> Twist | None:
        """Advance control by one tick."""
        ...


class BaseDriver:
    """Moves the base: runs a behaviour, or follows velocities, within the acceleration limits."""

    def __init__(
        self,
        physics: Physics,
        localisation: Callable[[], Localisation],
        costmap: Costmap,
        checks: CollisionWorld,
        held: Callable[[], str | None],
        out_of_sight: Callable[[], Sequence[int]] = tuple,
    ) -> None:
        self.physics = physics
        self.base = physics.build.base
        """What drives, and how fast."""
        self.costmap = costmap
        self.planner = PathPlanner(costmap)
        self._localisation = localisation
        self._checks = checks
        self._held = held
        self._out_of_sight = out_of_sight
        self._behaviour: Behaviour | None = None
        self._goal: Goal | None = None
        self._path = np.empty((0, 2))
        self._twist: Twist = (0.0, 0.0, 0.0)
        self._command: tuple[float, Twist] | None = None
        self._loaded_at = -1
        self._room_here = 0.0

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
        self._twist, self._loaded_at = (0.0, 0.0, 0.0), -1

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
        vx, vy, wz = self.physics.base_twist()
        return math.hypot(vx, vy) < STOPPED[0] and abs(wz) < STOPPED[1]

    def blocked_along(self, way: Sequence[Pose]) -> bool:
        """Would the robot touch something on its way over poses in base_footprint, from where it is?

        A robot that stands too near to something already may still leave it: what counts is that it comes no nearer.
        """
        checks, here = self._checks, self.physics.base_pose()
        if self._loaded_at != self.physics.ticks:
            self._loaded_at = self.physics.ticks
            checks.load(self.physics.data.qpos)
            checks.attach(self._held())
            checks.set_base(*here)
            self._room_here = checks.room()
        room = self._room_here
        least = 0.0 if room > 0 else min(room, NEAREST) - ROUNDING
        before: Pose = (0.0, 0.0, 0.0)
        for pose in way:
            dx, dy, turn = pose[0] - before[0], pose[1] - before[1], pose[2] - before[2]
            length, done = math.hypot(dx, dy) + REACH * abs(turn), 0.0
            while done < length:
                # Nothing is met within the room that is measured, so that a free way takes a look or two.
                done = min(length, done + max(STEP, room))
                share = done / length
                checks.set_base(
                    *compose(here, (before[0] + share * dx, before[1] + share * dy, before[2] + share * turn))
                )
                room = checks.room()
                if room < least:
                    return True
            before = pose
        return False

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
        self._loaded_at = -1
        known = self.physics.data.qpos.copy()
        for along_x in self._out_of_sight():
            known[along_x] += ELSEWHERE
        self._checks.load(known)
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
