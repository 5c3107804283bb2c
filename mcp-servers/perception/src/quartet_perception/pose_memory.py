"""What is remembered while the robot stands still: estimates, which stay as they are, and pictures."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from quartet_perception.scene.view import View

Value = TypeVar("Value")
Base = tuple[float, float, float] | None
"""x, y [m] and yaw [rad] of the base in a frame that does not jump; None when unknown."""

MAX_SHIFT_M = 0.01
MAX_TURN_RAD = float(np.radians(30))
"""Changes of an estimate below which the previous one is kept."""
_STOOD_STILL_M = 0.004
_STOOD_STILL_RAD = float(np.radians(0.4))
"""Changes of odometry below which the base has not moved."""
_MUCH_NEARER = 0.75
"""An estimate from less than this share of the previous distance is the better one."""
_FRESH_S = 30.0
"""An object that was seen so long ago may have been exchanged meanwhile [s, the robot's clock]."""


@dataclass(frozen=True)
class RememberedPose(Generic[Value]):
    """An estimate with what decides whether it is still valid.

    position: of the object [m] and yaw [rad], base frame. range_m: distance of the camera from the object.
    """

    value: Value
    position: tuple[float, float, float]
    yaw: float
    period: float
    """Yaw repeats after this angle [rad]; 0 when yaw says nothing."""
    base: Base
    """Of when it was taken."""
    range_m: float


class PoseMemory(Generic[Value]):
    """The last estimate by name.

    The previous one is kept below 1 cm and 30 degrees of change, only while the base has not moved, and only if the new
    one was not taken from clearly nearer.
    """

    def __init__(self) -> None:
        self._last: dict[str, RememberedPose[Value]] = {}

    def update(self, name: str, new: RememberedPose[Value]) -> Value:
        """Take in a new estimate and return the value to report for `name`: the previous or the new one."""
        old = self._last.get(name)
        still = old is not None and same_place(old.base, new.base) and _close(old, new)
        if old is not None and still and new.range_m > _MUCH_NEARER * old.range_m:
            return old.value
        self._last[name] = new
        return new.value

    def forget(self, name: str) -> None:
        """Drop the estimate of one name: the next one counts, however near it is."""
        self._last.pop(name, None)

    def clear(self) -> None:
        """Drop all estimates."""
        self._last.clear()


class ViewMemory:
    """The last picture of each camera, as long as the base stands where it was taken, and for half a minute."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[View, Base]] = {}

    def add(self, view: View, base: Base) -> list[View]:
        """Take in a picture and return those of the other cameras from the same standpoint."""
        self._last[view.camera] = (view, base)
        return [
            other
            for camera, (other, stood) in self._last.items()
            if camera != view.camera and same_place(stood, base) and view.stamp - other.stamp <= _FRESH_S
        ]


def same_place(a: Base, b: Base) -> bool:
    """Return whether a base stands where it stood, as far as odometry tells; False for an unknown place."""
    if a is None or b is None:
        return False
    turn = abs((a[2] - b[2] + np.pi) % (2 * np.pi) - np.pi)
    return bool(np.hypot(a[0] - b[0], a[1] - b[1]) < _STOOD_STILL_M and turn < _STOOD_STILL_RAD)


def _close(old: RememberedPose[Value], new: RememberedPose[Value]) -> bool:
    if float(np.linalg.norm(np.subtract(old.position, new.position))) >= MAX_SHIFT_M:
        return False
    period = min(old.period, new.period)
    if period <= 0:
        return True
    turn = abs((old.yaw - new.yaw + period / 2) % period - period / 2)
    return turn < MAX_TURN_RAD
