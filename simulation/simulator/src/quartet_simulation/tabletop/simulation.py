"""The table with its arms as simulated robots behind rosbridge endpoints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from quartet_simulation.arm.body import TICK
from quartet_simulation.arm.model import standing
from quartet_simulation.arm_simulation import ArmSimulation
from quartet_simulation.errors import InvalidCommandError, UnknownNameError
from quartet_simulation.sensors import frames
from quartet_simulation.sensors.calibration import BodyState, CameraMounts, draw_calibration, measured_joints
from quartet_simulation.sensors.cameras import Cameras
from quartet_simulation.sensors.levels import DEFAULT_LEVEL, find_level
from quartet_simulation.sensors.localisation import Pose
from quartet_simulation.sensors.timing import Times, times_of
from quartet_simulation.tabletop.body import TableBody
from quartet_simulation.tabletop.tasks import find_task
from quartet_simulation.tabletop.world import Tabletop, arms_at, make_spec

WORLD = "tabletop"
"""Name of this world beside those of world files."""
_STILL = [0.0, 0.0, 0.0, 1.0]


class TableSimulation(ArmSimulation):
    """An arm that stands on a table, with two cameras; its base does not drive. This one is the first of its table.

    Frames: map, odom, base_footprint (on the floor under the arm's foot), those of the arm, such as panda_link0 to
    panda_link7, panda_tool0 and panda_hand_tcp, and the cameras' optical frames; map is the world of `Tabletop`.

    Args:
        seed: of what stands where and of the noise.
        scenario: TASK or TASK:VARIATION, see tasks.py; None: the default for this number of arms.
        sensors: level of sensors/levels.py.
        arms: kinds of the arms, ur5 or panda, two at most; time, episode and truth are those of their table.

    Raises:
        UnknownNameError: there is no such level of sensors or kind of arm.
        TabletopError: the arms do not fit the table.
        UnknownTaskError: there is no such task or variation.
        NoPlacementError: what belongs to the task found no place with this seed.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        scenario: str | None = None,
        sensors: str = DEFAULT_LEVEL,
        arms: Sequence[str] = ("panda",),
    ) -> None:
        self._level = find_level(sensors)
        self._cameras: Cameras | None = None
        self._host, self._arms = self, arms_at(arms)
        self.reset(WORLD, seed, scenario)

    @classmethod
    def _beside(cls, host: TableSimulation, number: int) -> TableSimulation:
        """Return the simulation of another arm at the table of `host`."""
        other = cls.__new__(cls)
        other._host, other._level, other._table, other.robots = host, host._level, host._table, []
        other._equip(number)
        return other

    @property
    def seed(self) -> int:
        """Seed of the episode."""
        return self._host._seed

    def reset(self, world: str | None = None, seed: int = 0, scenario: str | None = None) -> None:
        """Begin a new episode of a task; `world` can be this one alone. Raises UnknownNameError, TabletopError."""
        if self._host is not self:
            self._host.reset(world, seed, scenario)
            return
        if world not in (None, WORLD):
            raise UnknownNameError("world", world, (WORLD,))
        # One Panda alone begins where the paper's does.
        arms = () if [arm.kind for arm in self._arms] == ["panda"] else self._arms
        table = Tabletop.generate(*find_task(scenario, len(self._arms)), seed, arms=arms)
        self.close()
        self._seed, self._table, self._remainder = seed, table, 0.0
        self._equip(0)
        self.robots = [self, *(self._beside(self, number) for number in range(1, len(self._arms)))]

    def _equip(self, number: int) -> None:
        """Make what each arm has of its own."""
        self._body = TableBody(self._table, number)
        self._equip_arm(self._body, number, self._body.placed.prefix)
        # As they were meant to be, before the cameras are where they are.
        self._mounted = frames.arm_mountings(self._body)
        if self._level.calibration is not None:
            self._calibration = draw_calibration(self._level.calibration, self.seed + number, len(self.arm.joints))
        CameraMounts(self._body).shift(self._calibration)
        self._known = BodyState(self._body)
        self._arm.reset(self._calibration.joints)
        self._gripper.reset(self.hand.open_position)

    def _planning_spec(self) -> mujoco.MjSpec:
        return make_spec(self._table.layout, self._table.placed)[0]

    def step(self, duration_s: float) -> None:
        """Advance physics and the controllers of running goals by about `duration_s` [s], in ticks of 10 ms."""
        host = self._host
        ticks, host._remainder = divmod(host._remainder + duration_s + 1e-9, TICK)
        first, *others = (robot._body for robot in host.robots)
        for _ in range(int(ticks)):
            for robot in host.robots:
                robot._arm.tick()
                robot._gripper.tick()
            first.tick(*others)

    def halt_base(self) -> None:
        """Do nothing: the base stands."""

    def command_velocity(self, vx: float, vy: float, wz: float) -> None:
        """Do nothing: the base stands."""

    def base_twist(self) -> Pose:
        """Return the twist of a base that stands: zeros."""
        return 0.0, 0.0, 0.0

    def base_in_world(self) -> np.ndarray:
        """Return base_footprint in the world, 4x4."""
        x, y, _ = self._body.placed.foot
        return standing((x, y, 0.0), self._body.placed.yaw)

    def _render(self, camera: str) -> tuple[np.ndarray, np.ndarray]:
        host = self._host
        if host._cameras is None:
            host._cameras = Cameras(self._body.model, self._level, {})
        return host._cameras.render(camera, self._body.data, self.seed, self.time, (1.0, 1.0, 1.0), self._prefix)

    @property
    def jpeg_quality(self) -> int:
        """Of pictures on the compressed topics, 1 to 95."""
        return self._level.jpeg_quality

    def times_of(self, sensor: str) -> Times:
        """Return the times of what the camera front or arm shows now."""
        return times_of(self._level.timing, self.seed, sensor, self.time)

    def odometry(self) -> dict[str, Any]:
        """Return the pose and twist of a base that stands: zeros."""
        return {"pose": (0.0, 0.0, 0.0), "twist": self.base_twist()}

    def transforms(self) -> list[frames.Transform]:
        """(parent, child, translation, quaternion xyzw) of map -> odom -> base_footprint and of the arm's links."""
        (x, y, _), half = self._body.placed.foot, self._body.placed.yaw / 2
        return [
            ("map", "odom", [x, y, 0.0], [0.0, 0.0, math.sin(half), math.cos(half)]),
            ("odom", self.arm.base, [0.0, 0.0, 0.0], _STILL),
            *frames.arm_links(self._known_body()),
        ]

    def _known_body(self) -> TableBody:
        """Return the arm as it knows itself."""
        if self._level.calibration is None:
            return self._body
        return self._known.at(measured_joints(self._body, self._calibration))

    def static_transforms(self) -> list[frames.Transform]:
        """Return (parent, child, translation, quaternion xyzw) of all fixed frames."""
        return self._mounted

    def truth(self) -> dict[str, Any]:
        """Poses of arm and things, what is held, and whether the task of the episode is done. For scoring."""
        table = self._table
        return {
            "time": self.time,
            "world": WORLD,
            "task": {"name": table.task.name, "instruction": table.instruction, "succeeded": table.succeeded},
            "robot": self._robot_truth(),
            "robots": [robot._robot_truth() for robot in self._host.robots],
            "contacts": sorted(table.touched),
            "held": table.held,
            "objects": {
                name: {"position": list(table.position(name)), "turns": list(table.turns(name))}
                for name in table.things
            },
            "grasps": dict(self._gripper.grasps),
            "releases": dict(self._gripper.releases),
        }

    def _robot_truth(self) -> dict[str, Any]:
        body = self._body
        tool = body.data.site(body.name("tcp" if body.placed.kind == "panda" else "tip")).xpos.tolist()
        held = body.held_object()
        return {"arm": body.arm_positions().tolist(), "tool": tool, "opening": body.opening(), "held": held}

    def place_object(self, name: str, x: float, y: float, z: float, yaw: float = 0.0) -> None:
        """Put a thing at (x, y) in map, standing on height z. Raises UnknownObjectError, InvalidCommandError."""
        self._table.place(name, (x, y, z), yaw)

    def put_in_gripper(self, name: str) -> None:
        """Raise InvalidCommandError: episodes at the table begin with an empty gripper."""
        raise InvalidCommandError(f"'{name}' cannot be put into the gripper: the world {WORLD} has no such scenario")

    def close(self) -> None:
        """Free the renderer."""
        if self._cameras is not None:
            self._cameras.close()
            self._cameras = None
