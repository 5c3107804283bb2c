"""What stands at a spot, whatever it is: for things that no catalogue has and nothing has named."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quartet_perception.scene.view import View

RADIUS_M = 0.05
"""What stands this near to the spot stands at it: things are put down where there is more room around them."""
_AROUND_M = 0.15
"""The surface is measured this far around the spot."""
_OFF_M = 0.05
"""The surface is at most so much higher or lower than it is said to be."""
_RISES_M = 0.015
"""Cells that rise less than this over a surface on average are part of it, with its noise."""
_CELL_M = 0.01
_FEW_CELLS = 4
"""What covers fewer cells than this is noise: a block of 3 cm covers more."""
_SEEN_SHARE = 0.7
"""Share of the spot's cells that have to be seen for it to count as free."""
_SURFACE_CELLS = 30
"""So many cells of the surface have to be seen for its height to count."""


@dataclass(frozen=True)
class Spot:
    """What a picture shows at a spot.

    surface: height of what carries things there [m, base frame]. rise: how far what stands there rises over it [m], 0
    where nothing does.
    """

    surface: float
    rise: float


def spot_in(view: View, x: float, y: float, surface: float, most: float) -> Spot | None:
    """Return what stands at (x, y) on a surface of about this height [m, base frame]; None where it is out of view.

    What is higher than `most` over the surface [m], and the robot's own hand, is left out.
    """
    distance = np.hypot(view.points[..., 0] - x, view.points[..., 1] - y)
    points = view.points[view.valid & (distance < _AROUND_M) & (view.heights < surface + most)].astype(np.float64)
    points = points[~view.in_own_hand(points)]
    flat = points[np.abs(points[:, 2] - surface) < _OFF_M]
    if len(_means(flat)) < _SURFACE_CELLS:
        return None
    # What stands on it is flat in places as well, and never lower.
    height = float(np.percentile(flat[:, 2], 30))
    near = np.hypot(points[:, 0] - x, points[:, 1] - y) < RADIUS_M
    means = _means(points[near & (points[:, 2] > height - _OFF_M)])
    standing = means > height + _RISES_M
    if standing.sum() >= _FEW_CELLS:
        return Spot(height, float(np.percentile(means[standing], 95)) - height)
    return Spot(height, 0.0) if len(means) >= _SEEN_SHARE * np.pi * (RADIUS_M / _CELL_M) ** 2 else None


def _means(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean height of the points (N, 3) over each cell of the floor plane that has any.

    A mean has less depth noise than a point.
    """
    x, y = np.floor(points[:, :2] / _CELL_M).astype(np.int64).T
    _, cell, count = np.unique((x << 20) + y, return_inverse=True, return_counts=True)
    return np.bincount(cell, weights=points[:, 2], minlength=len(count)) / count
