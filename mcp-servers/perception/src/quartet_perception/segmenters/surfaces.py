"""Detection of a named surface: a plane at its height, of its colour, no larger than it, in its area."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quartet_perception.catalogue import CatalogueEntry
from quartet_perception.scene.colour import FULL
from quartet_perception.scene.regions import PreparedView
from quartet_perception.scene.supports import SupportPlane
from quartet_perception.scene.view import Mask, View, box_of
from quartet_perception.segmenters.base import SegmentedObject
from quartet_site import distance_to_edge, inside

_HEIGHT_TOLERANCE_M = 0.03
_MIN_COLOUR = 0.35
_MIN_AREA_M2 = 0.02
_ACCEPT = 0.4
_BESIDE_M = 0.3
"""How much farther a plane is beside the view from one surface's approach than from another's, to be that one."""
_AREA_MARGIN_M = 0.6
"""How far outside of its area a surface may be seen: localisation error and surfaces along the walls."""


def find_surface(
    picture: PreparedView, entry: CatalogueEntry, others: Sequence[CatalogueEntry] = ()
) -> list[SegmentedObject]:
    """Return the surfaces of a picture that may be `entry`, best first; parts of one top are joined.

    What may as well be one of the `others`, and lies where the site says that that one is, is left out.
    """
    view = picture.view
    x, y, height = entry.size_m
    length, width = max(x, y), min(x, y)
    coarse = picture.member(entry.appearance.colours)[::2, ::2]
    groups: list[list[SupportPlane]] = []
    for plane in picture.supports.planes:
        if abs(plane.z - height) > _HEIGHT_TOLERANCE_M:
            continue
        middle = (plane.low + plane.high) / 2
        if not in_area(view, (middle[0], middle[1], plane.z), entry, _AREA_MARGIN_M):
            continue
        if float(coarse[plane.mask].mean()) / FULL < _MIN_COLOUR:
            continue
        near = next((g for g in groups if _joined(g, plane, length)), None)
        if near is None:
            groups.append([plane])
        else:
            near.append(plane)
    found = []
    for group in groups:
        mask = np.any([p.mask for p in group], axis=0)
        area = sum(p.area for p in group)
        points = view.points[::2, ::2][mask][:, :2]
        extents = _extents(points)
        if area < _MIN_AREA_M2 or not _has_room(entry, extents):
            continue
        if any(_is_rather(picture, mask, extents, group[0].z, entry, other) for other in others):
            continue
        colour = float(np.clip(1.15 * coarse[mask].mean() / FULL, 0, 1))
        seen = min(1.0, area / (0.25 * length * width))
        full = np.repeat(np.repeat(mask, 2, axis=0), 2, axis=1)[: view.shape[0], : view.shape[1]] & view.valid
        z = float(np.average([p.z for p in group], weights=[p.area for p in group]))
        score = colour * (0.5 + 0.5 * seen)
        found.append(SegmentedObject(entry.name, score, box_of(full), full, entry=entry, support_z=z, visible=seen))
    found.sort(key=lambda f: -f.score)
    # A sliver at the right height beside a whole table is something else.
    return [f for f in found if f.score >= max(_ACCEPT, 0.5 * found[0].score)]


def _has_room(entry: CatalogueEntry, extents: tuple[float, float]) -> bool:
    """Return whether what was seen is no larger than a surface, with the errors of depth and of what was joined."""
    x, y, _ = entry.size_m
    return extents[0] <= 1.15 * max(x, y) + 0.12 and extents[1] <= 1.2 * min(x, y) + 0.12


def _is_rather(
    picture: PreparedView,
    mask: Mask,
    extents: tuple[float, float],
    z: float,
    entry: CatalogueEntry,
    other: CatalogueEntry,
) -> bool:
    """Return whether a plane fits another named surface too, and lies where that one is rather than where `entry` is.

    So a desk is no shelf beside it that is as high and almost of its colour, and hidden under what stands on it.
    """
    if abs(z - other.size_m[2]) > _HEIGHT_TOLERANCE_M or not _has_room(other, extents):
        return False
    if float(picture.member(other.appearance.colours)[::2, ::2][mask].mean()) / FULL < _MIN_COLOUR:
        return False
    x, y, _ = picture.view.points[::2, ::2][mask].mean(axis=0)
    mine, its = (_beside(picture.view, (x, y, z), one) for one in (entry, other))
    return mine is not None and its is not None and mine > its + _BESIDE_M


def _beside(view: View, point: Sequence[float], entry: CatalogueEntry) -> float | None:
    """Return how far a point of the base frame is beside or behind what one looks at from an entry's approach [m].

    None where the robot is not localised or the site says no approach.
    """
    if view.map_from_base is None or entry.approach is None:
        return None
    at, (x, y) = entry.approach, (view.map_from_base @ np.array([*point, 1.0]))[:2]
    c, s = np.cos(at.yaw), np.sin(at.yaw)
    ahead, left = c * (x - at.x) + s * (y - at.y), -s * (x - at.x) + c * (y - at.y)
    return max(0.0, abs(left) - max(entry.size_m[:2]) / 2, -ahead)


def _joined(group: list[SupportPlane], plane: SupportPlane, length: float) -> bool:
    low = np.min([p.low for p in [*group, plane]], axis=0)
    high = np.max([p.high for p in [*group, plane]], axis=0)
    return float(np.linalg.norm(high - low)) < 1.5 * length


def _extents(points: NDArray[np.float32]) -> tuple[float, float]:
    """Return the long and short side of the smallest rectangle around the points (5 degree steps) [m]."""
    best = (np.inf, 0.0, 0.0)
    sample = points[:: max(1, len(points) // 600)]
    for angle in np.arange(0, 90, 5):
        c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        turned = sample @ np.array([[c, -s], [s, c]], dtype=np.float32)
        a, b = np.percentile(turned, 99, axis=0) - np.percentile(turned, 1, axis=0)
        if a * b < best[0]:
            best = (float(a * b), float(max(a, b)), float(min(a, b)))
    return best[1], best[2]


def in_area(view: View, point: Sequence[float] | NDArray[np.floating], entry: CatalogueEntry, margin_m: float) -> bool:
    """Return whether a point of the base frame is within `margin_m` of the entry's area; True where that is unknown."""
    if view.map_from_base is None or entry.outline is None:
        return True
    x, y = (float(value) for value in (view.map_from_base @ np.array([*point, 1.0]))[:2])
    return inside(entry.outline, x, y) or distance_to_edge(entry.outline, x, y) < margin_m
