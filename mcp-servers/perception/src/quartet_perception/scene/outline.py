"""Rectangles around points in the plane: the footprint of what is seen."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_STEP_DEG = 3
_CLIPPED = 0.5
"""Percent of the points at either end that are left out, since they are noise."""
_LEAST_M = 0.005


@dataclass(frozen=True)
class Rectangle:
    """A rectangle: its sides along and across `yaw` [m], its middle [m], and yaw [rad]."""

    along: float
    across: float
    x: float
    y: float
    yaw: float

    @property
    def area(self) -> float:
        """Area [m2]."""
        return self.along * self.across


def rectangles(xy: NDArray[np.floating]) -> list[Rectangle]:
    """Return the rectangles around Nx2 points [m] for yaws from 0 to a right angle."""
    points = np.asarray(xy, dtype=np.float64)
    return [_rectangle(points, float(np.radians(angle))) for angle in range(0, 90, _STEP_DEG)]


def smallest_rectangle(xy: NDArray[np.floating]) -> Rectangle:
    """Return the rectangle of least area around Nx2 points [m], its yaw along its long side."""
    one = min(rectangles(xy), key=lambda each: each.area)
    if one.across <= one.along:
        return one
    return Rectangle(one.across, one.along, one.x, one.y, one.yaw + np.pi / 2)


def _rectangle(xy: NDArray[np.float64], yaw: float) -> Rectangle:
    c, s = np.cos(yaw), np.sin(yaw)
    local = xy @ np.array([[c, -s], [s, c]])
    low, high = np.percentile(local, _CLIPPED, axis=0), np.percentile(local, 100 - _CLIPPED, axis=0)
    along, across = (low + high) / 2
    width, depth = np.maximum(high - low, _LEAST_M)
    return Rectangle(
        float(width), float(depth), float(c * along - s * across), float(s * along + c * across), float(yaw)
    )
