"""Rigid transforms with numpy; quaternions are x, y, z, w, matrices 4x4 and float64."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Quaternion = tuple[float, float, float, float]
Vector = tuple[float, float, float]


def rotation(q: Quaternion) -> Matrix:
    """3x3 rotation matrix of a quaternion; it is normalised first."""
    x, y, z, w = q
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    x, y, z, w = x / norm, y / norm, z / norm, w / norm
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def matrix(translation: Vector, q: Quaternion) -> Matrix:
    """4x4 matrix of a translation [m] and a quaternion."""
    result = np.eye(4)
    result[:3, :3] = rotation(q)
    result[:3, 3] = translation
    return result


def inverse(transform: Matrix) -> Matrix:
    """Inverse of a rigid 4x4 transform."""
    result = np.eye(4)
    turned = transform[:3, :3].T
    result[:3, :3] = turned
    result[:3, 3] = -turned @ transform[:3, 3]
    return result


def quaternion(transform: Matrix) -> Quaternion:
    """Quaternion of the rotation in a 3x3 or 4x4 matrix, w >= 0 (Shepperd's method)."""
    r = transform[:3, :3]
    trace = float(np.trace(r))
    diagonal = [float(r[0, 0]), float(r[1, 1]), float(r[2, 2])]
    if trace > max(diagonal):
        w = math.sqrt(1 + trace) / 2
        q = (
            float(r[2, 1] - r[1, 2]) / (4 * w),
            float(r[0, 2] - r[2, 0]) / (4 * w),
            float(r[1, 0] - r[0, 1]) / (4 * w),
            w,
        )
    else:
        i = diagonal.index(max(diagonal))
        j, k = (i + 1) % 3, (i + 2) % 3
        size = math.sqrt(1 + diagonal[i] - diagonal[j] - diagonal[k]) / 2
        values = [0.0, 0.0, 0.0]
        values[i] = size
        values[j] = float(r[j, i] + r[i, j]) / (4 * size)
        values[k] = float(r[k, i] + r[i, k]) / (4 * size)
        q = (values[0], values[1], values[2], float(r[k, j] - r[j, k]) / (4 * size))
    return q if q[3] >= 0 else (-q[0], -q[1], -q[2], -q[3])


def yaw_of(transform: Matrix) -> float:
    """Rotation about z [rad] of a 4x4 transform."""
    return math.atan2(float(transform[1, 0]), float(transform[0, 0]))


def yaw_quaternion(yaw: float) -> Quaternion:
    """Quaternion of a rotation about z [rad]."""
    return (0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2))


def wrap(angle: float) -> float:
    """`angle` [rad] in (-pi, pi]."""
    return math.pi - (math.pi - angle) % (2 * math.pi)


def slerp(a: Quaternion, b: Quaternion, fraction: float) -> Quaternion:
    """Spherical interpolation from `a` (fraction 0) to `b` (fraction 1), the short way round."""
    va, vb = np.array(a), np.array(b)
    dot = float(va @ vb)
    if dot < 0:
        vb, dot = -vb, -dot
    if dot > 0.9995:
        mixed = va + fraction * (vb - va)
    else:
        angle = math.acos(dot)
        mixed = (math.sin((1 - fraction) * angle) * va + math.sin(fraction * angle) * vb) / math.sin(angle)
    mixed = mixed / np.linalg.norm(mixed)
    return (float(mixed[0]), float(mixed[1]), float(mixed[2]), float(mixed[3]))


@dataclass(frozen=True)
class Transform:
    """Takes points of `source` into `target`: p_target = matrix @ p_source. `stamp` is ROS time [s]."""

    target: str
    source: str
    matrix: Matrix
    stamp: float

    @property
    def translation(self) -> Vector:
        """Origin of `source` in `target` [m]."""
        t = self.matrix[:3, 3]
        return (float(t[0]), float(t[1]), float(t[2]))

    @property
    def quaternion(self) -> Quaternion:
        """Orientation of `source` in `target`."""
        return quaternion(self.matrix)

    def points(self, points: Matrix) -> Matrix:
        """(N, 3) points of `source` as (N, 3) points of `target`."""
        return points @ self.matrix[:3, :3].T + self.matrix[:3, 3]
