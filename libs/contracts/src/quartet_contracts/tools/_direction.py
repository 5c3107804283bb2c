"""Directions from which the hand comes to an object, and the way on which it leaves again."""

import math
from typing import Literal

from quartet_contracts.tools.results import Pose3D

Direction = Literal["above", "inclined", "front"]
PITCH: dict[Direction, float] = {"above": math.pi / 2, "inclined": math.pi / 4, "front": 0.0}
"""Angle between the fingers and the horizon, downwards [rad]; in the order in which directions are tried."""
RISE = 0.19
"""Least rise of a hand that leaves with an object, as a share of its way back along the fingers. The object comes off
what it stands on, and the way still counts as one along the fingers (quartet_moveit.allowed_collisions)."""

Quaternion = tuple[float, float, float, float]
Vector = tuple[float, float, float]


def fingers(orientation: Quaternion) -> Vector:
    """Return where the fingers of a flange with that orientation (x, y, z, w) point: a unit vector."""
    x, y, z, w = orientation
    return 2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)


def advanced(pose: Pose3D, by_m: float) -> Pose3D:
    """Return the flange pose that is `by_m` [m] farther along the fingers; negative: back along them."""
    return _moved(pose, by_m, 0.0)


def withdrawn(pose: Pose3D, by_m: float) -> Pose3D:
    """Return the flange pose that is `by_m` [m] back along the fingers, risen by at least RISE of that way."""
    return _moved(pose, -by_m, max(0.0, RISE * by_m + fingers(pose.orientation)[2] * by_m))


def _moved(pose: Pose3D, by_m: float, up_m: float) -> Pose3D:
    (x, y, z), (fx, fy, fz) = pose.position, fingers(pose.orientation)
    return pose.model_copy(update={"position": (x + by_m * fx, y + by_m * fy, z + by_m * fz + up_m)})
