"""The arms that a simulated robot can have, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from quartet_simulation.arm import panda as panda_arm
from quartet_simulation.arm import summit
from quartet_simulation.arm.model import ArmModel, GripperModel, standing
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.robot.panda import add_panda
from quartet_simulation.robot.ur5 import add_ur5

Position = tuple[float, float, float]


@dataclass(frozen=True)
class ArmKind:
    """An arm with its gripper."""

    arm: ArmModel
    hand: GripperModel
    place: tuple[Position, float]
    """Where the foot of `arm` is in base_footprint: position [m] and yaw [rad]."""
    add: Callable[[mujoco.MjSpec, Any, Position, float], Any]
    """Adds it to a body at a position [m] and yaw [rad]."""

    def at(self, position: Position, yaw: float) -> ArmModel:
        """Return the arm with its foot at another place in base_footprint."""
        if (position, yaw) == self.place:
            return self.arm
        return self.arm.moved(standing(position, yaw) @ np.linalg.inv(standing(*self.place)))


ARMS = {
    "ur5": ArmKind(summit.ARM, summit.GRIPPER, (dim.ARM_MOUNT, dim.ARM_MOUNT_YAW), add_ur5),
    "panda": ArmKind(panda_arm.PANDA, panda_arm.PANDA_HAND, ((0.0, 0.0, 0.0), 0.0), add_panda),
}
