"""A long thing in the hand that reaches up to the wrist camera: too near for its depth, plain in its colour.

Where depth is missing, the picture of each box of the catalogue, gripped as grasp.py grips it, is compared with the
region that has its colour and no depth.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from quartet_perception.catalogue import Thing
from quartet_perception.grasp import grip_depth
from quartet_perception.view import Mask, View
from quartet_site import RobotFile

_BLIND = 0.6
"""Least share of the expected picture that lacks depth; otherwise depth says more."""
_AHEAD_M = 0.02
_SAME_LINE_PX = 1e-9
"""Points that are off a line by less lie on it."""


def near_hand(view: View, thing: Thing, member: Mask, file: RobotFile) -> tuple[float, Mask]:
    """Overlap (0 to 1, intersection over union) of the thing's expected picture with what has its colours (`member`,
    HxW) and no depth, and the pixels that are both."""
    nothing = np.zeros(view.shape, dtype=bool)
    best: tuple[float, Mask] = (0.0, nothing)
    if view.tool_in_base is None or thing.appearance.shape != "box":
        return best
    blind = ~view.valid
    regions, count = ndimage.label(member & blind)
    if count == 0:
        return best
    for corners in _gripped(thing, file):
        expected = _hull(view, corners @ view.tool_in_base[:3, :3].T + view.tool_in_base[:3, 3])
        total = int(expected.sum())
        if total == 0 or int((expected & blind).sum()) < _BLIND * total:
            continue
        touching = np.unique(regions[expected])
        seen = np.isin(regions, touching[touching > 0])
        both = expected & seen
        overlap = float(both.sum()) / float((expected | seen).sum())
        if overlap > best[0]:
            best = overlap, both
    return best


def _gripped(thing: Thing, file: RobotFile) -> list[NDArray[np.float64]]:
    """Corners (8x3) of the box in the tool frame, for each side that the fingers may close across."""
    x, y, height = thing.appearance.size_m
    top = file.gripper.finger_offset_m - grip_depth(height)
    unit = np.array([[i, j, k] for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (0.0, 1.0)])
    sides = [(a, b) for a, b in dict.fromkeys(((x, y), (y, x))) if a < file.gripper.stroke_m]
    return [unit * (a, b, height) + (0.0, 0.0, top) for a, b in sides]


def _hull(view: View, corners: NDArray[np.float64]) -> Mask:
    """Pixels of the convex outline of points of the base frame; none when one is beside or behind the camera."""
    height, width = view.shape
    mask = np.zeros((height, width), dtype=bool)
    uv, ahead = view.project(corners)
    if (ahead < _AHEAD_M).any():
        return mask
    low = np.clip(np.floor(uv.min(axis=0)).astype(int), 0, (width, height))
    high = np.clip(np.ceil(uv.max(axis=0)).astype(int) + 1, 0, (width, height))
    if (high <= low).any():
        return mask
    u, v = np.meshgrid(np.arange(low[0], high[0]), np.arange(low[1], high[1]))
    inside = np.ones(u.shape, dtype=bool)
    for a, b, c in _edges(uv):
        inside &= a * u + b * v + c < _SAME_LINE_PX
    mask[low[1] : high[1], low[0] : high[0]] = inside
    return mask


def _edges(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lines (Mx3: a, b, c) round the convex outline of a few points (Nx2): a u + b v + c <= 0 within it. They are the
    lines through two of the points which have all others on one side."""
    one, other = (grid.ravel() for grid in np.meshgrid(*[np.arange(len(points))] * 2))
    along = points[other] - points[one]
    length = np.hypot(along[:, 0], along[:, 1])
    one, along, length = one[length > 0], along[length > 0], length[length > 0]
    normal = np.stack([along[:, 1], -along[:, 0]], axis=1) / length[:, None]
    offset = -(normal * points[one]).sum(axis=1)
    outer = (points @ normal.T + offset < _SAME_LINE_PX).all(axis=0)
    return np.column_stack([normal, offset])[outer]
