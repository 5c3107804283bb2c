"""The table with its Panda as a simulated robot behind the rosbridge endpoint."""

from __future__ import annotations

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
from quartet_simulation.tabletop.body import PandaBody
from quartet_simulation.tabletop.tasks import find_task
from quartet_simulation.tabletop.world import Tabletop, make_spec

WORLD = "tabletop"
"""Name of this world beside those of world files."""
_STILL = [0.0, 0.0, 0.0, 1.0]


class TableSimulation(ArmSimulation):
    """An arm that stands on a table, with two cameras; its base does not drive.

    Frames: map, odom, base_footprint (on the floor under the arm's foot), panda_link0 to panda_link7, panda_tool0,
    panda_hand_tcp and the cameras' optical frames; map is the world of `Tabletop`.

    Args:
        seed: of what stands where and of the noise.
        scenario: TASK or TASK:VARIATION, see tasks.py; None: tasks.DEFAULT_TASK.
        sensors: level of sensors/levels.py.

    Raises:
        UnknownNameError: there is no such level of sensors.
        UnknownTaskError: there is no such task or variation.
        NoPlacementError: what belongs to the task found no place with this seed.
    """

    def __init__(self, seed: int = 0, *, scenario: str | None = None, sensors: str = DEFAULT_LEVEL) -> None:
        self._level = find_level(sensors)
        self._cameras: Cameras | None = None
        self.robots = [self]
        self.reset(WORLD, seed, scenario)

    @property
    def seed(self) -> int:
        """Seed of the episode."""
        return self._seed

    def reset(self, world: str | None = None, seed: int = 0, scenario: str | None = None) -> None:
        """Begin a new episode of a task; `world` can be this one alone. Raises UnknownNameError, TabletopError."""
        if world not in (None, WORLD):
            raise UnknownNameError("world", world, (WORLD,))
        table = Tabletop.generate(*find_task(scenario), seed)
        self.close()
        self._seed, self._table, self._remainder = seed, table, 0.0
        self._body = PandaBody(table)
        self._equip_arm(self._body)
        # As they were meant to be, before the cameras are where they are.
        self._mounted = frames.arm_mountings(self._body)
        if self._level.calibration is not None:
            self._calibration = draw_calibration(self._level.calibration, seed, len(self.arm.joints))
        CameraMounts(self._body).shift(self._calibration)
        self._known = BodyState(self._body)
        self._arm.reset(self._calibration.joints)
        self._gripper.reset(self.hand.open_position)

    def _planning_spec(self) -> mujoco.MjSpec:
        return make_spec(self._table.layout, self._table.foot)[0]

    def step(self, duration_s: float) -> None:
        """Advance physics and the controllers of running goals by about `duration_s` [s], in ticks of 10 ms."""
        ticks, self._remainder = divmod(self._remainder + duration_s + 1e-9, TICK)
        for _ in range(int(ticks)):
            self._arm.tick()
            self._gripper.tick()
            self._body.tick()

    def halt_base(self) -> None:
        """Do nothing: the base stands."""

    def command_velocity(self, vx: float, vy: float, wz: float) -> None:
        """Do nothing: the base stands."""

    def base_twist(self) -> Pose:
        """Return the twist of a base that stands: zeros."""
        return 0.0, 0.0, 0.0

    def base_in_world(self) -> np.ndarray:
        """Return base_footprint in the world, 4x4."""
        x, y, _ = self._table.foot
        return standing((x, y, 0.0))

    def _render(self, camera: str) -> tuple[np.ndarray, np.ndarray]:
        if self._cameras is None:
            self._cameras = Cameras(self._body.model, self._level, {})
        return self._cameras.render(camera, self._body.data, self.seed, self.time, (1.0, 1.0, 1.0))

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
        x, y = self._table.foot[:2]
        return [
            ("map", "odom", [x, y, 0.0], _STILL),
            ("odom", self.arm.base, [0.0, 0.0, 0.0], _STILL),
            *frames.arm_links(self._known_body()),
        ]

    def _known_body(self) -> PandaBody:
        """Return the arm as it knows itself."""
        if self._level.calibration is None:
            return self._body
        return self._known.at(measured_joints(self._body, self._calibration))

    def static_transforms(self) -> list[frames.Transform]:
        """Return (parent, child, translation, quaternion xyzw) of all fixed frames."""
        return self._mounted

    def truth(self) -> dict[str, Any]:
        """Poses of arm and things, what is held, and whether the task of the episode is done. For scoring."""
        table, body = self._table, self._body
        return {
            "time": self.time,
            "world": WORLD,
            "task": {"name": table.task.name, "instruction": table.instruction, "succeeded": table.succeeded},
            "robot": {"arm": body.arm_positions().tolist(), "tool": list(table.hand), "opening": body.opening()},
            "held": table.held,
            "objects": {
                name: {"position": list(table.position(name)), "turns": list(table.turns(name))}
                for name in table.things
            },
            "grasps": dict(self._gripper.grasps),
            "releases": dict(self._gripper.releases),
        }

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
