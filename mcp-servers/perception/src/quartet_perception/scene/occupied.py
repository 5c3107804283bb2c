"""What stands around an object, as a depth picture shows it: which places beside it are taken."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from quartet_perception.scene.solids import PosedSolid
from quartet_perception.scene.view import Mask, View

Array = NDArray[np.float64]

CELL_M = 0.004
LAYER_M = 0.012
AROUND_M = 0.18
"""Places this far from the object's middle are looked at, along both axes."""
ABOVE_SUPPORT_M = 0.012
"""What rises less than this over what the object stands on is no obstacle: it is the surface with its noise."""
BESIDE_M = 0.010
"""What is nearer than this to the fitted object belongs to it."""
SLACK_M = 0.006
"""Depth noise of what is within reach."""
BEHIND_M = 0.05
"""What stands before the camera is taken to be this deep along the ray: its far side cannot be seen."""


@dataclass(frozen=True)
class Occupied:
    """What is taken on a square grid around an object, in a slice of heights.

    distances: NxN, to the nearest taken place [m], first index along x. hidden: NxN, share of the heights that the
    picture does not show. corner: x, y of the middle of cell (0, 0) [m, base frame].
    """

    distances: Array
    hidden: Array
    corner: tuple[float, float]

    def at(self, points: Array) -> tuple[Array, Array]:
        """Return distances and hidden shares at Nx2 points (base frame); beyond the grid it is free and seen."""
        cells = np.round((points - self.corner) / CELL_M).astype(int)
        inside = ((cells >= 0) & (cells < len(self.distances))).all(axis=1)
        there = tuple(cells[inside].T)
        distances, hidden = np.full(len(points), AROUND_M), np.zeros(len(points))
        distances[inside], hidden[inside] = self.distances[there], self.hidden[there]
        return distances, hidden


def occupied(
    views: Sequence[View], target: PosedSolid, support: float, slices: Sequence[tuple[float, float]]
) -> list[Occupied]:
    """Return what is taken around `target` in each slice of heights (from, to) [m, base frame].

    views: pictures from the same standpoint, the one that counts most first. A place is taken where something is seen,
    and up to BEHIND_M behind it as the camera sees it, unless an earlier one of the views looks through it: the wrist
    camera sees what is close beside an object, but nothing that is too near to it. What no view shows is hidden: it
    lies behind the target, farther behind something else or outside of the pictures.
    """
    line = np.arange(-AROUND_M, AROUND_M + CELL_M / 2, CELL_M)
    x, y = target.x + line, target.y + line
    obstacles = [_obstacles(view, target, support) for view in views]
    found: list[Occupied] = []
    for low, high in slices:
        heights = np.arange(max(low, support + ABOVE_SUPPORT_M), high, LAYER_M)
        places = np.stack(np.meshgrid(x, y, heights, indexing="ij"), axis=-1)
        layers, free = np.zeros(places.shape[:3], dtype=bool), np.zeros(places.shape[:3], dtype=bool)
        for view, obstacle in zip(views, obstacles, strict=True):
            here, through = (one.reshape(layers.shape) for one in _taken(view, obstacle, places.reshape(-1, 3)))
            layers |= here & ~free
            free |= through & ~layers
        taken = layers.any(axis=2)
        distances = ndimage.distance_transform_edt(~taken) * CELL_M if taken.any() else np.full(taken.shape, AROUND_M)
        hidden = (~layers & ~free).mean(axis=2) if len(heights) else np.zeros(taken.shape)
        found.append(Occupied(distances, hidden, (float(x[0]), float(y[0]))))
    return found


def _taken(view: View, obstacle: Mask, points: Array) -> tuple[Mask, Mask]:
    """Return which of Nx3 points are taken, and which the camera looks through."""
    pixels, ahead, inside = view.pixels_of(points)
    behind = ahead - view.depth[pixels]
    taken, through = np.zeros(len(points), dtype=bool), np.zeros(len(points), dtype=bool)
    taken[inside] = obstacle[pixels] & (behind > -SLACK_M) & (behind < BEHIND_M)
    through[inside] = view.valid[pixels] & (behind < -SLACK_M)
    return taken, through


def _obstacles(view: View, target: PosedSolid, support: float) -> Mask:
    """Return the pixels that show something near the target: not it, nor what it stands on, nor the robot's hand."""
    near = view.valid & (np.abs(view.points[..., :2] - (target.x, target.y)) < AROUND_M + BEHIND_M).all(axis=-1)
    near &= view.heights > support + ABOVE_SUPPORT_M
    where = np.nonzero(near)
    points = view.points[where].astype(np.float64)
    other = np.ones(len(points), dtype=bool)
    if len(points):
        other &= (target.distances(points) > BESIDE_M) & ~view.in_own_hand(points)
    near[where] = other
    return near
