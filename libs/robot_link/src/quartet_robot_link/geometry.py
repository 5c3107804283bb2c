"""Rigid transforms. Quaternions are x, y, z, w.

In plain Python: a look-up takes a handful of products, and three of four servers then live without numpy's 14 MB.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

Quaternion = tuple[float, float, float, float]
Vector = tuple[float, float, float]

IDENTITY: Quaternion = (0.0, 0.0, 0.0, 1.0)


def unit(q: Quaternion) -> Quaternion:
    """Return `q` scaled to norm 1, with w >= 0."""
    norm = math.sqrt(sum(value * value for value in q))
    scale = -norm if q[3] < 0 else norm
    return (q[0] / scale, q[1] / scale, q[2] / scale, q[3] / scale)


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the rotation that applies `b` first, then `a`."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def conjugate(q: Quaternion) -> Quaternion:
    """Return the inverse rotation of a unit quaternion."""
    return (-q[0], -q[1], -q[2], q[3])


def rotate(q: Quaternion, v: Vector) -> Vector:
    """Return `v` rotated by a unit quaternion."""
    x, y, z, _ = multiply(multiply(q, (*v, 0.0)), conjugate(q))
    return (x, y, z)


def angle_between(a: Quaternion, b: Quaternion) -> float:
    """Return the angle [rad] between unit quaternions `a` and `b`, 0 to pi."""
    x, y, z, w = multiply(conjugate(a), b)
    return 2 * math.atan2(math.sqrt(x * x + y * y + z * z), abs(w))


def yaw_quaternion(yaw: float) -> Quaternion:
    """Return the quaternion of a rotation about z [rad]."""
    return (0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2))


def rpy_quaternion(roll: float, pitch: float, yaw: float) -> Quaternion:
    """Return the quaternion of rotations about the fixed x, then y, then z axis [rad], as in URDF."""
    about_x = (math.sin(roll / 2), 0.0, 0.0, math.cos(roll / 2))
    about_y = (0.0, math.sin(pitch / 2), 0.0, math.cos(pitch / 2))
    return multiply(yaw_quaternion(yaw), multiply(about_y, about_x))


def wrap(angle: float) -> float:
    """Return `angle` [rad] in (-pi, pi]."""
    return math.pi - (math.pi - angle) % (2 * math.pi)


def slerp(a: Quaternion, b: Quaternion, fraction: float) -> Quaternion:
    """Interpolate spherically from `a` (fraction 0) to `b` (fraction 1), the short way round."""
    dot = sum(p * q for p, q in zip(a, b, strict=True))
    sign = -1.0 if dot < 0 else 1.0
    if abs(dot) > 0.9995:
        wa, wb = 1 - fraction, sign * fraction
    else:
        angle = math.acos(abs(dot))
        wa, wb = math.sin((1 - fraction) * angle), sign * math.sin(fraction * angle)
    mixed = [wa * p + wb * q for p, q in zip(a, b, strict=True)]
    return unit((mixed[0], mixed[1], mixed[2], mixed[3]))


@dataclass(frozen=True)
class Rigid:
    """A rotation by a unit quaternion, then a translation [m]."""

    translation: Vector = (0.0, 0.0, 0.0)
    rotation: Quaternion = IDENTITY

    def __matmul__(self, other: "Rigid") -> "Rigid":
        """Return the transform that applies `other` first, as a product of matrices does."""
        return Rigid(self.apply(other.translation), unit(multiply(self.rotation, other.rotation)))

    def inverse(self) -> "Rigid":
        """Return the inverse transform."""
        back = conjugate(self.rotation)
        x, y, z = rotate(back, self.translation)
        return Rigid((-x, -y, -z), back)

    def apply(self, point: Vector) -> Vector:
        """Return a transformed point [m]."""
        x, y, z = rotate(self.rotation, point)
        tx, ty, tz = self.translation
        return (x + tx, y + ty, z + tz)


@dataclass(frozen=True)
class Transform:
    """Takes points of `source` into `target`. `stamp` is ROS time [s]."""

    target: str
    source: str
    rigid: Rigid
    stamp: float

    @property
    def translation(self) -> Vector:
        """Origin of `source` in `target` [m]."""
        return self.rigid.translation

    @property
    def quaternion(self) -> Quaternion:
        """Orientation of `source` in `target`, w >= 0."""
        return unit(self.rigid.rotation)

    @property
    def yaw(self) -> float:
        """Rotation about z [rad]: direction of the x axis of `source` in the x-y plane of `target`."""
        x, y, _ = rotate(self.rigid.rotation, (1.0, 0.0, 0.0))
        return math.atan2(y, x)

    def apply(self, point: Vector) -> Vector:
        """Return a point of `source` [m] in `target`."""
        return self.rigid.apply(point)

    @property
    def matrix(self) -> "Matrix":
        """4x4 float64: p_target = matrix @ p_source in homogeneous coordinates."""
        import numpy as np

        columns = [rotate(self.rigid.rotation, axis) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
        result = np.eye(4)
        result[:3, :3] = np.array(columns).T
        result[:3, 3] = self.rigid.translation
        return result
