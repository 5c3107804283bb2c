"""Simple shapes as large as a region shows them, and how much one of them explains it better than the others."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quartet_perception.scene.fit_quality import fit_cost
from quartet_perception.scene.outline import smallest_rectangle
from quartet_perception.scene.pose_fit import fit_pose, search_size
from quartet_perception.scene.solids import PosedSolid, SimpleShape, Solid
from quartet_perception.scene.view import Mask, View

Array = NDArray[np.floating]
CONVEX: tuple[SimpleShape, ...] = ("box", "cylinder", "lying cylinder", "sphere")

LEAST_M, LARGEST_M = 0.012, 0.35
"""Sizes of a thing to pick that nobody has measured: what is lower is not told from what it lies on, and what is wider
is furniture."""
_PATCH_M = 0.005
"""What is seen of a side is taken for at least so long [m]."""
_NARROWEST_M, _SLENDER = 0.15, 6.0
"""Most that its narrowest side may have: no hand is wider. What is more times as high as it is wide is a leg."""
_HOPELESS = 1.0
"""Cost before the search for the size from which it is in vain."""
_MOST_COST, _MOST_HOLLOW_COST, _LEAST_IRREGULAR = 0.10, 0.16, 0.2
"""Cost up to which a convex shape and a bowl explain a region: with typical sensors things that stand free have less
than 0.07 and 0.13. What no convex shape explains with less than the third is irregular: those have more than 0.24."""
_AS_WELL = (1.1, 1.4)
"""A shape is not told where another one costs at most the first number times as much, and told from the second on."""


@dataclass(frozen=True)
class Measured:
    """A shape as large as it is seen, and its cost: squared errors and contradictions a pixel, as of `fit_cost`."""

    posed: PosedSolid
    cost: float


class MeasuredShapes:
    """Simple shapes as large as one region shows them; each is measured once, when it is asked for."""

    def __init__(self, view: View, region: Mask, points: NDArray[np.float32], support: float) -> None:
        """Measure nothing yet.

        Args:
            view: the picture.
            region: HxW pixels of one thing.
            points: Nx3 points of them, base frame [m].
            support: height that the thing stands on, base frame [m].
        """
        self.region, self.points = region, points
        self._view, self._support = view, support
        self._measured: dict[SimpleShape, Measured | None] = {}

    def measured(self, shape: SimpleShape) -> Measured | None:
        """Return the size and pose of a shape that explain the region best; None where none does, or none to pick."""
        if shape not in self._measured:
            self._measured[shape] = self._measure(shape)
        return self._measured[shape]

    def likeness(self, shape: SimpleShape) -> float:
        """Return how sure it is that the region shows this shape and none of the others, 0 to 1."""
        own = self.measured(shape)
        if own is None:
            return 0.0
        if shape == "irregular":
            return float(all(self._cost(other) > _LEAST_IRREGULAR for other in CONVEX))
        if own.cost > (_MOST_HOLLOW_COST if shape == "bowl" else _MOST_COST):
            return 0.0
        low, high = _AS_WELL
        likeness = 1.0
        for other in CONVEX:
            if other != shape and likeness > 0:
                ratio = self._cost(other) / max(own.cost, 1e-3)
                likeness = min(likeness, float(np.clip((ratio - low) / (high - low), 0.0, 1.0)))
        return likeness

    def _cost(self, shape: SimpleShape) -> float:
        one = self.measured(shape)
        return np.inf if one is None else one.cost

    def _measure(self, shape: SimpleShape) -> Measured | None:
        solid = _as_seen(shape, self.points, self._support, self._view.origin)
        poses = fit_pose(solid, self.points, self._support, self._view.origin)
        costs = [fit_cost(self._view, posed, self.region) for posed in poses]
        first = int(np.argmin(costs))
        if costs[first] > _HOPELESS:
            return None
        if solid.irregular:
            return Measured(poses[first], costs[first])
        refined = search_size(self._view, poses[first], self.region)
        return Measured(refined, fit_cost(self._view, refined, self.region))


def can_be_picked(solid: Solid) -> bool:
    """Return whether something as large as that may be a thing to pick, and stands."""
    x, y, height = solid.size
    if solid.hollow and height > x:
        return False
    narrow = min(x, y)
    graspable = LEAST_M < min(narrow, height) < _NARROWEST_M and max(x, y, height) < LARGEST_M
    return graspable and height < _SLENDER * narrow


def _as_seen(shape: SimpleShape, points: Array, support: float, camera: Array) -> Solid:
    """Return the shape about as large as Nx3 points show it from one side."""
    xy = np.asarray(points[:, :2], dtype=np.float64)
    height = max(float(np.percentile(points[:, 2], 98)) - support, _PATCH_M)
    if shape in ("box", "lying cylinder", "irregular"):
        seen = smallest_rectangle(xy)
        long, short = max(seen.along, seen.across, _PATCH_M), max(min(seen.along, seen.across), _PATCH_M)
        if shape == "lying cylinder":
            return Solid("cylinder", (long, height, height), lying=True)
        return Solid("box", (long, short, height), irregular=shape == "irregular")
    away = xy.mean(axis=0) - np.asarray(camera, dtype=np.float64)[:2]
    across = xy @ (np.array([-away[1], away[0]]) / max(float(np.linalg.norm(away)), 1e-6))
    width = max(float(np.percentile(across, 99) - np.percentile(across, 1)), _PATCH_M)
    if shape == "sphere":
        diameter = (width + height) / 2
        return Solid("sphere", (diameter, diameter, diameter))
    return Solid("cylinder", (width, width, height), hollow=shape == "bowl")
