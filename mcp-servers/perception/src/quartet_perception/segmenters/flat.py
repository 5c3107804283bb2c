"""Detection of a flat thing on a surface, such as a painted square: by its outline, since depth does not show it."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from quartet_perception.catalogue import CatalogueEntry
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
_MARK_M, _MARK_HEIGHT_M, _LARGEST_MARK_M = 0.001, 0.03, 0.3
"""Thickness of a mark, how far its height may be off, and its longest side [m]: what is larger is furniture."""
_STEP_DEG = 2
_CLIPPED = 0.5
"""Percent of the pixels that are left out at either side of an outline."""


def is_flat(entry: CatalogueEntry) -> bool:
    """Return whether a thing is too low to be told from what it lies on by depth."""
    return entry.kind != "surface" and entry.appearance.size_m[2] <= FLAT_M


def find_flat(picture: PreparedView, entry: CatalogueEntry) -> list[SegmentedObject]:
    """Return the flat things of a view that may be `entry`, best first: those that are seen whole."""
    view = picture.view
    member = picture.member(entry.appearance.colours)
    low = view.valid & (picture.supports.mask | ~picture.solidity)
    # Opened, so that no thin line of noise joins two things.
    labels, _ = ndimage.label(ndimage.binary_dilation(ndimage.binary_erosion((member > MEMBER) & low)))
    found: list[SegmentedObject] = []
    for label, box in enumerate(ndimage.find_objects(labels), start=1):
        mask = np.zeros(view.shape, dtype=bool)
        mask[box] = labels[box] == label
        if int(mask.sum()) < 2 * MIN_PIXELS:
            continue
        plane = _plane_of(picture, mask)
        if plane is None:
            continue
        fitted = _fit(view, mask, plane, entry)
        if fitted is None:
            continue
        solid, score = fitted
        found.append(
            SegmentedObject(
                entry.name, score, box_of(mask), mask, entry=entry, solid=solid, support_z=plane.z, visible=1.0
            )
        )
    return sorted(found, key=lambda one: -one.score)


def find_mark(picture: PreparedView, entry: CatalogueEntry) -> list[SegmentedObject]:
    """Return the patches of larger planes that may be `entry`, a surface: a square that is drawn on a table."""
    x, y, height = entry.appearance.size_m
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
    if worst > _TOLERANCE or covered < _LEAST_FILLED * sx * sy or covered > 1.3 * area:
        return None
    return solid.place(x, y, plane.z, yaw), float(np.clip(1 - max(worst, 0.0), 0, 1))
