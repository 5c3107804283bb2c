"""Poses of hands in the world."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from quartet_simulation.errors import TableError

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


@dataclass(frozen=True)
class HandPose:
    """Where the tip of a hand is: position [m] and quaternion (w, x, y, z).

    z of the tip points out of the hand, and fingers close along its x. With `any_turn`, the turn about z is free.
    """

    position: Vector
    quaternion: Quaternion = (0.0, 1.0, 0.0, 0.0)
    any_turn: bool = False

    def __post_init__(self) -> None:
        if len(self.position) != 3 or len(self.quaternion) != 4:
            raise TableError(f"{self} must have three coordinates [m] and a quaternion (w, x, y, z)")
        if not all(map(math.isfinite, (*self.position, *self.quaternion))) or not any(self.quaternion):
            raise TableError(f"{self} must have finite numbers and a quaternion other than 0")

    @classmethod
    def down(cls, position: Vector, yaw: float = 0.0, *, any_turn: bool = False) -> HandPose:
        """Return the pose of a hand that points down, and whose fingers close along the horizontal direction `yaw`."""
        return cls(position, (0.0, math.cos(yaw / 2), math.sin(yaw / 2), 0.0), any_turn)

    @property
    def rotation(self) -> np.ndarray:
        """Its rotation matrix (3, 3)."""
        unit = np.array(self.quaternion, dtype=float)
        matrix = np.zeros(9)
        mujoco.mju_quat2Mat(matrix, unit / np.linalg.norm(unit))
        return matrix.reshape(3, 3)

    def towards(self, other: HandPose, position: Vector, share: float) -> HandPose:
        """Return the pose at a position, turned by a share of the shortest turn from this pose to another (slerp)."""
        turn, quaternion = np.zeros(3), np.array(self.quaternion, dtype=float)
        mujoco.mju_subQuat(turn, np.array(other.quaternion, dtype=float), quaternion)
        mujoco.mju_quatIntegrate(quaternion, turn, share)
        w, x, y, z = (float(value) for value in quaternion)
        return HandPose(position, (w, x, y, z), other.any_turn)


def vector(values: np.ndarray) -> Vector:
    """Return three coordinates as a tuple."""
    x, y, z = (float(value) for value in values)
    return x, y, z
