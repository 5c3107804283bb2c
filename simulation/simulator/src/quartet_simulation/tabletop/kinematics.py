"""Joints of the Panda for a hand that points down, in closed form.

With the third and the fifth joint at zero the arm bends in one vertical plane through its foot. The wrist is then the
end of a chain of two links, the hand hangs under it, the first joint turns the plane and the last one the fingers.
"""

import math

import numpy as np

from quartet_simulation.robot import panda
from quartet_simulation.table_arms.poses import Vector
from quartet_simulation.tabletop.errors import UnreachableError

FOOT = (-0.30, 0.0, 0.752)
"""Where the foot of the arm stands by default (x, y, z) [m]: on the table, behind the workspace."""
_UPPER_ARM, _UPPER_LEAN = math.hypot(panda.D3, panda.A4), math.atan2(panda.A4, panda.D3)
_FOREARM, _FOREARM_LEAN = math.hypot(panda.D5, panda.A4), math.atan2(panda.A4, panda.D5)


def top_down(position: Vector, yaw: float, foot: Vector = FOOT) -> np.ndarray:
    """Return the seven joints [rad] that hold the point between the fingers at `position`, pointing down.

    Args:
        position: (x, y, z) of the point between the fingers in the world [m].
        yaw: turn of the line on which the fingers close, from the x axis, about z upwards [rad].
        foot: of the arm [m].

    Raises:
        UnreachableError: The position is too far or too near, or a joint would pass its limit.
    """
    x, y, z = (value - base for value, base in zip(position, foot, strict=True))
    forward, up = math.hypot(x, y) - panda.A7, z + panda.FLANGE + panda.TCP - panda.D1
    distance = math.hypot(forward, up)
    told = ", ".join(f"{value:.3f}" for value in position)
    if not abs(_UPPER_ARM - _FOREARM) < distance < _UPPER_ARM + _FOREARM:
        raise UnreachableError(f"the arm does not reach [{told}] with its hand pointing down")
    elbow = math.acos((_UPPER_ARM**2 + _FOREARM**2 - distance**2) / (2 * _UPPER_ARM * _FOREARM))
    shoulder = math.acos((_UPPER_ARM**2 + distance**2 - _FOREARM**2) / (2 * _UPPER_ARM * distance))
    q1 = math.atan2(y, x)
    q2 = math.atan2(forward, up) - shoulder - _UPPER_LEAN
    q4 = elbow - math.pi - _UPPER_LEAN - _FOREARM_LEAN
    joints = np.array([q1, q2, 0.0, q4, 0.0, q2 - q4, q1 - yaw - math.pi / 4])
    for name, value, low, high in zip(panda.JOINTS, joints, panda.LOWER, panda.UPPER, strict=True):
        if not low <= value <= high:
            raise UnreachableError(
                f"{name} would turn to {value:.2f} rad at [{told}] with yaw {yaw:.2f}; it turns from {low} to {high}"
            )
    return joints
