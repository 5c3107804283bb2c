"""Detection of a flat thing on a surface, such as a painted square or a ring: by its outline in colour or in relief.

A tile of some millimetres stands out from the plane under it once that plane is fitted with its tilt; a painted mark
does not, and colour alone tells it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from quartet_perception.catalogue import CatalogueEntry
from quartet_perception.scene.colour import FULL
from quartet_perception.scene.regions import MEMBER, MIN_PIXELS, PreparedView
from quartet_perception.scene.solids import PosedSolid, solids_of
from quartet_perception.scene.supports import SupportPlane
from quartet_perception.scene.view import View, box_of
from quartet_perception.segmenters.base import SegmentedObject

FLAT_M = 0.012
"""Height up to which depth does not tell a thing from the surface that it lies on: the tolerance of a plane."""
_TOLERANCE = 0.15
"""How far the sides of an outline may be off, relative to those of the catalogue."""
_PIXELS_OFF = 2.0
"""The same, in pixels of the picture."""
_LEAST_FILLED = 0.5
"""Share of its outline that a thing has to fill; a frame or a ring has a hole."""
_NEARER_M = 0.015
"""What is so far over a thing's upper side stands before it [m]."""
_MARK_M, _MARK_HEIGHT_M, _LARGEST_MARK_M = 0.001, 0.03, 0.3
"""Thickness of a mark, how far its height may be off, and its longest side [m]: what is larger is furniture."""
_LEAST_RELIEF_M = 0.006
"""Height from which a thing is looked for in relief as well as by its colour."""
_RELIEF = (0.5, 1.8)
"""Least and greatest height of its pixels over the plane, relative to its own."""
_RELIEF_NOISE = 2.2
"""It has to be so many times as high as the noise of depth there."""
_RELIEF_COLOUR = 0.3
"""Share of its raised pixels that must have its colours: light and wood make a gray thing and its table alike."""
_BESIDE_PLANE_M = 0.03
"""How far a thing may reach over the edge of the plane on which it lies."""
_LOW_FURNITURE_M = 0.1
"""Height over a plane up to which a surface of the site is looked for on it [m]: a plinth or a board."""
_NOISE_M = 0.0015
"""Of `depth_noise`, which is for one distance [m]."""
_PLANE_M, _PLANE_POINTS = 0.004, 4000
"""What is off a plane by more than the first counts less [m]; points to which it is fitted."""
_STEP_DEG = 2
_CLIPPED = 0.5
"""Percent of the pixels that are left out at either side of an outline."""


def is_flat(entry: CatalogueEntry) -> bool:
    """Return whether a thing is too low to be told from what it lies on by depth."""
    return entry.kind != "surface" and entry.sized and entry.size_m[2] <= FLAT_M


def find_flat(picture: PreparedView, entry: CatalogueEntry, heights: Sequence[float] = ()) -> list[SegmentedObject]:
    """Return the flat things of a view that may be `entry`, best first: those that are seen whole.

    heights: of the site's surfaces [m], on which they may lie though too little of a surface is seen to make a plane.
    """
    view = picture.view
    member = picture.member(entry.appearance.colours)
    low = view.valid & (picture.supports.mask | ~picture.solidity)
    found: list[SegmentedObject] = []
    for plane, mask in _in_relief(picture, entry, heights):
        found += _described(view, mask, plane, entry)
    for mask in _regions((member > MEMBER) & low):
        plane = _plane_of(picture, mask)
        if plane is not None and not any((mask & other.mask).any() for other in found):
            found += _described(view, mask, plane, entry)
    return sorted(found, key=lambda one: -one.score)


def _regions(wanted: NDArray[np.bool_]) -> Iterator[NDArray[np.bool_]]:
    """Yield the connected pixels, each region as a mask of the picture."""
    # Opened, so that no thin line of noise joins two things.
    labels, _ = ndimage.label(ndimage.binary_dilation(ndimage.binary_erosion(wanted)))
    sizes = np.bincount(labels.ravel())
    for label, box in enumerate(ndimage.find_objects(labels), start=1):
        if sizes[label] >= 2 * MIN_PIXELS:
            mask = np.zeros(wanted.shape, dtype=bool)
            mask[box] = labels[box] == label
            yield mask


def _in_relief(
    picture: PreparedView, entry: CatalogueEntry, heights: Sequence[float]
) -> Iterator[tuple[SupportPlane, NDArray[np.bool_]]]:
    """Yield the planes and the regions on them that rise by the height of `entry` and have about its colours."""
    view, height = picture.view, entry.size_m[2]
    if height < _LEAST_RELIEF_M:
        return
    member = picture.member(entry.appearance.colours)
    seen = view.valid & (height > _RELIEF_NOISE * (_NOISE_M + _NOISE_M * view.depth * view.depth))
    least, most = (share * height for share in _RELIEF)
    known = [plane.z for plane in picture.supports.planes]
    for plane in picture.supports.planes:
        x, y = view.points[..., 0], view.points[..., 1]
        (x0, y0), (x1, y1) = plane.low - _BESIDE_PLANE_M, plane.high + _BESIDE_PLANE_M
        here = seen & (x > x0) & (x < x1) & (y > y0) & (y < y1)
        over = ndimage.median_filter(_height_over(view, plane), 5)
        raised = [z - plane.z for z in heights if height < z - plane.z < _LOW_FURNITURE_M]
        for step in (0.0, *(up for up in raised if min(abs(plane.z + up - z) for z in known) > height)):
            for mask in _regions(here & (over > step + least) & (over < step + most)):
                if float(member[mask].mean()) > _RELIEF_COLOUR * FULL:
                    yield replace(plane, z=plane.z + step), mask


def _height_over(view: View, plane: SupportPlane) -> NDArray[np.float32]:
    """Return HxW the height of each pixel over a plane that is fitted with its tilt [m]: a camera's mounting errs."""
    points = view.points[::2, ::2][plane.mask].astype(np.float64)
    points = points[:: 1 + len(points) // _PLANE_POINTS]
    middle = points[:, :2].mean(axis=0)
    sides = np.column_stack([points[:, :2] - middle, np.ones(len(points))])
    weights = np.ones(len(points))
    slopes = np.zeros(3)
    for _ in range(3):
        slopes = np.linalg.lstsq(sides * weights[:, None], points[:, 2] * weights, rcond=None)[0]
        weights = 1.0 / (1.0 + ((points[:, 2] - sides @ slopes) / _PLANE_M) ** 2)
    a, b, c = (np.float32(value) for value in slopes)
    local = view.points
    flat = a * (local[..., 0] - np.float32(middle[0])) + b * (local[..., 1] - np.float32(middle[1])) + c
    return np.where(view.valid, local[..., 2] - flat, np.float32(0.0))


def _described(
    view: View, mask: NDArray[np.bool_], plane: SupportPlane, entry: CatalogueEntry
) -> list[SegmentedObject]:
    """Return the thing with this outline on a plane, none where the sizes differ."""
    fitted = _fit(view, mask, plane, entry)
    if fitted is None:
        return []
    solid, score = fitted
    return [
        SegmentedObject(entry.name, score, box_of(mask), mask, entry=entry, solid=solid, support_z=plane.z, visible=1.0)
    ]


def find_mark(picture: PreparedView, entry: CatalogueEntry) -> list[SegmentedObject]:
    """Return the patches of larger planes that may be `entry`, a surface: a square that is drawn on a table."""
    x, y, height = entry.size_m
    if max(x, y) > _LARGEST_MARK_M:
        return []
    thin = entry.appearance.model_copy(update={"shape": "box", "size_m": (x, y, _MARK_M)})
    found = find_flat(picture, replace(entry, appearance=thin))
    there = [one for one in found if one.support_z is not None and abs(one.support_z - height) < _MARK_HEIGHT_M]
    # As of any surface, its pixels tell its extent.
    return [replace(one, entry=entry, solid=None) for one in there]


def _plane_of(picture: PreparedView, mask: NDArray[np.bool_]) -> SupportPlane | None:
    """Return the plane that most of the pixels lie on."""
    heights = picture.view.points[mask][:, 2]
    middle = float(np.median(heights))
    near = [plane for plane in picture.supports.planes if abs(plane.z - middle) < 0.02]
    return min(near, key=lambda plane: abs(plane.z - middle), default=None)


def _fit(
    view: View, mask: NDArray[np.bool_], plane: SupportPlane, entry: CatalogueEntry
) -> tuple[PosedSolid, float] | None:
    """Return the thing with the outline of the pixels and how well it fits, 0 to 1; None for another size."""
    solid = solids_of(entry.appearance)[0]
    rays = view.rays[mask].astype(np.float64)
    # Where the rays meet its upper side: the outline has no noise of depth then.
    away = (plane.z + solid.size[2] - float(view.origin[2])) / rays[:, 2]
    xy = rays[:, :2] * away[:, None] + view.origin[:2]
    range_m = float(np.median(away))
    pixel = range_m / view.intrinsics.fx
    best: tuple[float, float, float, float, float, float] | None = None
    for angle in np.radians(np.arange(0, 90, _STEP_DEG)):
        c, s = np.cos(angle), np.sin(angle)
        local = xy @ np.array([[c, -s], [s, c]])
        low, high = np.percentile(local, _CLIPPED, axis=0), np.percentile(local, 100 - _CLIPPED, axis=0)
        # A pixel has its own width.
        a, b = high - low + pixel
        if best is None or a * b < best[0]:
            u, v = (low + high) / 2
            best = (float(a * b), float(a), float(b), float(c * u - s * v), float(s * u + c * v), float(angle))
    assert best is not None
    area, a, b, x, y, yaw = best
    sx, sy, _ = solid.size
    if abs(a - sx) + abs(b - sy) > abs(a - sy) + abs(b - sx):
        a, b, yaw = b, a, yaw + np.pi / 2
    slack = _PIXELS_OFF * pixel
    worst = max((abs(have - want) - slack) / want for have, want in ((a, sx), (b, sy)))
    # Area of the plane that the pixels cover.
    covered = float((away**2 / np.abs(rays[:, 2])).sum()) / (view.intrinsics.fx * view.intrinsics.fy)
    placed = solid.place(x, y, plane.z, yaw)
    free = sx * sy * (1 - _hidden(view, mask, placed))
    if worst > _TOLERANCE or covered < _LEAST_FILLED * free or covered > 1.3 * area:
        return None
    return placed, float(np.clip(1 - max(worst, 0.0), 0, 1))


def _hidden(view: View, mask: NDArray[np.bool_], placed: PosedSolid) -> float:
    """Return the share of a thing's upper side that something nearer hides, as a peg does of a ring round it."""
    x0, y0, x1, y1 = (int(value) for value in box_of(mask))
    rays = view.rays[y0:y1, x0:x1].astype(np.float64)
    xy = rays[..., :2] * ((placed.top - float(view.origin[2])) / rays[..., 2])[..., None] + view.origin[:2]
    c, s = np.cos(placed.yaw), np.sin(placed.yaw)
    away = np.abs((xy - (placed.x, placed.y)) @ np.array([[c, -s], [s, c]]))
    sx, sy, _ = placed.solid.size
    within = (away[..., 0] < sx / 2) & (away[..., 1] < sy / 2)
    clear = view.valid[y0:y1, x0:x1] & (view.points[y0:y1, x0:x1, 2] < placed.top + _NEARER_M)
    return float((within & ~clear).sum()) / max(int(within.sum()), 1)
