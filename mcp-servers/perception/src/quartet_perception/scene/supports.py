"""Support planes: the horizontal planes that objects stand on, such as floor, tables, counters and shelves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from quartet_perception.scene.view import Floats, Mask, View

Coordinates = tuple[Floats, ...]
"""x, y and z of the points of a grid, each in an array of its own, which numpy processes several times as fast."""

_STRIDE = 2
_STEP = 3
"""Neighbours this many (coarse) pixels apart tell whether a patch is flat."""
_BIN_M = 0.005
_APART_M = 0.02
"""Least distance between the heights of two planes."""
_MAX_RANGE_M = 7.0
_LARGE_M2 = 0.06
"""Seen area from which a plane counts as furniture rather than as an object's top."""
_KNOWN_M2 = 0.03
"""The same at a height at which the site file has a surface: more than a book, less than a shelf's free part."""
_FLOOR_M2 = 0.015
PLANE_M, _PLANE_POINTS = 0.004, 4000
"""What is off a plane by more than the first counts less [m]; points to which it is fitted."""
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
    rays = [view.ray_component(axis, _STRIDE) for axis in range(3)]
    measured = view.valid[::_STRIDE, ::_STRIDE]
    depth = _without_specks(np.where(measured, view.depth[::_STRIDE, ::_STRIDE], np.float32(0)))
    x, y, z = points = tuple(part * depth + at for part, at in zip(rays, view.origin, strict=True))
    usable = (depth > 0) & (depth < _MAX_RANGE_M) & (rays[2] < -0.02)
    flat = usable & _flat(points, depth)
    steep: Floats = np.maximum(-rays[2], np.float32(0.03), dtype=np.float32)
    length: Floats = np.sqrt(rays[0] * rays[0] + rays[1] * rays[1] + rays[2] * rays[2], dtype=np.float32)
    area: Floats = (_STRIDE * depth) ** 2 / (view.intrinsics.fx * view.intrinsics.fy) * length / steep
    tolerance = _tolerance(depth, steep / length)
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
            near = (x > low[0] - 0.05) & (x < high[0] + 0.05) & (y > low[1] - 0.05) & (y < high[1] + 0.05)
            on_plane |= level & near
    grown = ndimage.binary_dilation(on_plane)
    heights = np.full(on_plane.shape, np.inf, dtype=np.float32)
    for plane in planes:
        heights[grown & (np.abs(z - plane.z) < np.abs(z - heights))] = plane.z
    tolerance = _tolerance(view.depth, np.maximum(-view.ray_component(2), np.float32(0.03)))
    mask = np.abs(view.heights) < tolerance
    mask |= _upsampled(grown, view.shape) & (np.abs(view.heights - _upsampled(heights, view.shape)) < tolerance)
    return SupportPlanes(planes, mask & view.valid)


def height_over(view: View, plane: SupportPlane) -> Floats:
    """Return HxW the height of each pixel over a plane that is fitted with its tilt [m]: a camera's mounting errs."""
    a, b, c = fit_plane(view.points[::_STRIDE, ::_STRIDE][plane.mask], PLANE_M).astype(np.float32)
    return np.where(view.valid, view.heights - (a * view.points[..., 0] + b * view.points[..., 1] + c), np.float32(0))


def fit_plane(points: NDArray[np.floating], scale: float) -> NDArray[np.float64]:
    """Return a, b, c of the plane z = a x + b y + c through most of Nx3 points; those off by `scale` [m] count half."""
    points = np.asarray(points[:: 1 + len(points) // _PLANE_POINTS], dtype=np.float64)
    sides = np.column_stack([points[:, :2], np.ones(len(points))])
    weights = np.ones(len(points))
    slopes: NDArray[np.float64] = np.zeros(3)
    for _ in range(3):
        slopes = np.asarray(
            np.linalg.lstsq(sides * weights[:, None], points[:, 2] * weights, rcond=None)[0], np.float64
        )
        weights = 1.0 / (1.0 + ((points[:, 2] - sides @ slopes) / scale) ** 2)
    return slopes


def _tolerance(depth: Floats, steep: Floats) -> Floats:
    """Return the largest distance from a plane [m] at which a pixel still counts as a part of it.

    steep: sine of the angle between ray and plane; the picture's own grid takes the ray's z for it, which is as much in
    the middle of the picture and more at its corners.
    """
    return 0.005 + 2.5 * (0.0015 + 0.0015 * depth * depth) * steep


def _upsampled(coarse: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """Return a coarse grid on the picture's own, which has `shape`."""
    return np.repeat(np.repeat(coarse, _STRIDE, axis=0), _STRIDE, axis=1)[: shape[0], : shape[1]]


def _without_specks(depth: Floats) -> Floats:
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


def _flat(points: Coordinates, depth: Floats) -> Mask:
    """Return whether the surface around each pixel is level rather than upright."""
    flat = np.zeros(depth.shape, dtype=bool)
    across, along, up = (part[2 * _STEP :] - part[: -2 * _STEP] for part in points)
    noise = 0.003 + 0.003 * depth[_STEP:-_STEP] ** 2
    flat[_STEP:-_STEP] = np.abs(up) < 0.25 * np.hypot(across, along) + np.minimum(noise, 0.02)
    return flat


def _peaks(z: Floats, area: Floats) -> list[float]:
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
        if any(abs(middle - other) < _APART_M - 1.5 * _BIN_M for other in heights):
            # Whatever is near it is too close to that one as well.
            continue
        near = z[np.abs(z - middle) < 1.5 * _BIN_M]
        height = float(np.median(near)) if len(near) else float(middle)
        if all(abs(height - other) > _APART_M for other in heights):
            heights.append(height)
    return heights


def _components(
    level: Mask,
    flat: Mask,
    measured: Mask,
    points: Coordinates,
    area: Floats,
    height: float,
    known: Sequence[float],
) -> list[SupportPlane]:
    """Return the connected planes among the pixels that are at a height (`level`) and where it is `flat`.

    What was filled in joins a plane and is part of its area; its mask has only what was `measured`.
    """
    on_site = any(abs(height - k) < 0.025 for k in known)
    least = _FLOOR_M2 if abs(height) < 0.02 else _KNOWN_M2 if on_site else _LARGE_M2
    core = level & flat
    if float(area[level if on_site else core].sum()) < least:
        return []
    labels, count = ndimage.label(core, structure=np.ones((3, 3)))
    if count == 0:
        return []
    if on_site:
        # Within _STEP pixels of its upper and lower edges nothing counts as flat, which is much of a small surface.
        grown = ndimage.grey_dilation(labels, size=(2 * _STEP + 1, 1))
        labels = np.where(labels > 0, labels, np.where(level, grown, 0))
    inside = labels > 0
    areas = np.bincount(labels[inside], weights=area[inside])
    planes = []
    for index in np.flatnonzero(areas[1:] >= least) + 1:
        mask = (labels == index) & measured
        if not mask.any():
            continue
        x, y, z = (part[mask] for part in points)
        low, high = np.percentile(np.stack([x, y], axis=1).astype(np.float64), (1, 99), axis=0)
        planes.append(SupportPlane(float(np.median(z)), mask, float(areas[index]), low, high))
    return planes
