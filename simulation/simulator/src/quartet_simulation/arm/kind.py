"""An arm with its gripper, ready to be put on a base."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from quartet_simulation.arm.model import ArmModel, GripperModel, standing

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
    apart: tuple[tuple[str, str], ...] = ()
    """Bodies of the robot that overlap by their shapes, which is no collision."""

    def at(self, position: Position, yaw: float) -> ArmModel:
        """Return the arm with its foot at another place in base_footprint."""
        if (position, yaw) == self.place:
            return self.arm
        return self.arm.moved(standing(position, yaw) @ np.linalg.inv(standing(*self.place)))
