"""Support planes: the horizontal planes that objects stand on, such as floor, tables, counters and shelves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from quartet_perception.scene.view import Mask, View

_STRIDE = 2
_STEP = 3
"""Neighbours this many (coarse) pixels apart tell whether a patch is flat."""
_BIN_M = 0.005
_MAX_RANGE_M = 7.0
_LARGE_M2 = 0.06
"""Seen area from which a plane counts as furniture rather than as an object's top."""
_KNOWN_M2 = 0.03
"""The same at a height at which the site file has a surface: more than a book, less than a shelf's free part."""
_FLOOR_M2 = 0.015
_NEIGHBOURS, _SMOOTH = 4, 0.05
"""Of the eight neighbours of a pixel without depth so many must have one, and their depths differ by less than this
share, for the pixel to be filled in."""


@dataclass(frozen=True)
class SupportPlane:
    """A connected horizontal plane.

    z: height in the base frame [m]. mask: its pixels with depth on the coarse grid (every second one). area: seen [m2].
    low, high: corners of its extent in x, y [m].
    """

    z: float
    mask: Mask
    area: float
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def near(self, x: float, y: float, margin: float) -> bool:
        """Return whether (x, y) lies over its extent, grown by `margin` [m]."""
        return bool(np.all(np.array([x, y]) >= self.low - margin) and np.all(np.array([x, y]) <= self.high + margin))


@dataclass(frozen=True)
class SupportPlanes:
    """All support planes of a view. mask: HxW pixels that lie on one of them."""

    planes: list[SupportPlane]
    mask: Mask

    def under(self, x: float, y: float, z: float, margin: float = 0.12) -> float:
        """Return the height of the highest plane at or below z at (x, y) [m]; 0, the floor's, when there is none."""
        heights = [p.z for p in self.planes if p.z <= z and p.near(x, y, margin)]
        return max(heights, default=0.0)


def find_support_planes(view: View, known_heights: Sequence[float] = ()) -> SupportPlanes:
    """Return the planes of a view; at `known_heights` [m] small visible parts already count."""
    rays = view.rays[::_STRIDE, ::_STRIDE]
    measured = view.valid[::_STRIDE, ::_STRIDE]
    depth = _without_specks(np.where(view.valid, view.depth, np.float32(0))[::_STRIDE, ::_STRIDE])
    points = rays * depth[..., None] + view.origin
    usable = (depth > 0) & (depth < _MAX_RANGE_M) & (rays[..., 2] < -0.02)
    flat = usable & _flat(points, depth)
    steep = np.maximum(-rays[..., 2], 0.03)
    length = np.sqrt((rays * rays).sum(axis=-1))
    area = (_STRIDE * depth) ** 2 / (view.intrinsics.fx * view.intrinsics.fy) * length / steep
    z = points[..., 2]
    tolerance = 0.005 + 2.5 * (0.0015 + 0.0015 * depth * depth) * steep / length
    planes: list[SupportPlane] = []
    on_plane = np.zeros_like(usable)
    for height in _peaks(z[flat], area[flat]):
        level = usable & (np.abs(z - height) < tolerance) & ~on_plane
        if not level.any():
            continue
        found = _components(level, flat, measured, points, area, height, known_heights)
        if found:
            planes += found
            low, high = np.min([p.low for p in found], axis=0), np.max([p.high for p in found], axis=0)
            near = ((points[..., :2] > low - 0.05) & (points[..., :2] < high + 0.05)).all(axis=-1)
            on_plane |= level & near
    full_tolerance = np.zeros(view.shape, dtype=np.float32)
    full_tolerance += 0.005 + 2.5 * (0.0015 + 0.0015 * view.depth * view.depth) * np.maximum(-view.rays[..., 2], 0.03)
    mask = view.valid & (np.abs(view.points[..., 2]) < full_tolerance)
    coarse = np.repeat(np.repeat(ndimage.binary_dilation(on_plane), _STRIDE, axis=0), _STRIDE, axis=1)
    coarse = coarse[: view.shape[0], : view.shape[1]]
    heights = np.full(on_plane.shape, np.inf, dtype=np.float32)
    for plane in planes:
        heights[ndimage.binary_dilation(on_plane) & (np.abs(z - plane.z) < np.abs(z - heights))] = plane.z
    fine = np.repeat(np.repeat(heights, _STRIDE, axis=0), _STRIDE, axis=1)[: view.shape[0], : view.shape[1]]
    mask |= coarse & view.valid & (np.abs(view.points[..., 2] - fine) < full_tolerance)
    return SupportPlanes(planes, mask)


def _without_specks(depth: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return depth [m] whose single pixels without a return have the mean of their neighbours.

    A dark or shiny surface loses many pixels of its depth, each by itself; that tears its plane to pieces. Where the
    neighbours are not about as far as each other, there is an edge, and nothing is filled in.
    """
    known = depth > 0
    count = ndimage.uniform_filter(known.astype(np.float32), size=3) * 9
    mean = ndimage.uniform_filter(depth, size=3) * 9 / np.maximum(count, 1)
    nearest = ndimage.minimum_filter(np.where(known, depth, np.inf), size=3)
    farthest = ndimage.maximum_filter(depth, size=3)
    fill = ~known & (count > _NEIGHBOURS - 0.5) & (farthest - nearest < _SMOOTH * mean)
    return np.where(fill, mean, depth).astype(np.float32)


def _flat(points: NDArray[np.float32], depth: NDArray[np.float32]) -> Mask:
    """Return whether the surface around each pixel is level rather than upright."""
    flat = np.zeros(depth.shape, dtype=bool)
    step = points[2 * _STEP :, :, :] - points[: -2 * _STEP, :, :]
    run = np.hypot(step[..., 0], step[..., 1])
    noise = 0.003 + 0.003 * depth[_STEP:-_STEP] ** 2
    flat[_STEP:-_STEP] = np.abs(step[..., 2]) < 0.25 * run + np.minimum(noise, 0.02)
    return flat


def _peaks(z: NDArray[np.float32], area: NDArray[np.float32]) -> list[float]:
    """Return the heights [m] with much level area, largest first, at least 2 cm apart."""
    if len(z) == 0:
        return []
    low, high = -0.3, 2.2
    counts, edges = np.histogram(z, bins=int((high - low) / _BIN_M), range=(low, high), weights=area)
    smooth = np.convolve(counts, [0.5, 1.0, 1.0, 1.0, 0.5], mode="same")
    heights: list[float] = []
    for index in np.argsort(smooth)[::-1][:200]:
        if smooth[index] < _FLOOR_M2:
            break
        middle = 0.5 * (edges[index] + edges[index + 1])
        near = z[np.abs(z - middle) < 1.5 * _BIN_M]
        height = float(np.median(near)) if len(near) else float(middle)
        if all(abs(height - other) > 0.02 for other in heights):
            heights.append(height)
    return heights


def _components(
    level: Mask,
    flat: Mask,
    measured: Mask,
    points: NDArray[np.float32],
    area: NDArray[np.float32],
    height: float,
    known: Sequence[float],
) -> list[SupportPlane]:
    """Return the connected planes among the pixels that are at a height (`level`) and where it is `flat`.

    What was filled in joins a plane and is part of its area; its mask has only what was `measured`.
    """
    labels, count = ndimage.label(level & flat, structure=np.ones((3, 3)))
    if count == 0:
        return []
    least = _LARGE_M2
    if any(abs(height - k) < 0.025 for k in known):
        least = _KNOWN_M2
        # Within _STEP pixels of its upper and lower edges nothing counts as flat, which is much of a small surface.
        grown = ndimage.grey_dilation(labels, size=(2 * _STEP + 1, 1))
        labels = np.where(labels > 0, labels, np.where(level, grown, 0))
    least = _FLOOR_M2 if abs(height) < 0.02 else least
    areas = ndimage.sum_labels(area, labels, index=np.arange(1, count + 1))
    planes = []
    for index in np.flatnonzero(areas >= least):
        mask = (labels == index + 1) & measured
        if not mask.any():
            continue
        xy = points[mask][:, :2].astype(np.float64)
        z = float(np.median(points[mask][:, 2]))
        low, high = np.percentile(xy, 1, axis=0), np.percentile(xy, 99, axis=0)
        planes.append(SupportPlane(z, mask, float(areas[index]), low, high))
    return planes
