"""Detection of a named surface: a plane at its height, of its colour, no larger than it, in its area."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quartet_perception.catalogue import CatalogueEntry
from quartet_perception.scene.colour import FULL
from quartet_perception.scene.supports import SupportPlane, SupportPlanes
from quartet_perception.scene.view import View, box_of
from quartet_perception.segmenters.base import SegmentedObject
from quartet_site import distance_to_edge, inside

_HEIGHT_TOLERANCE_M = 0.03
_MIN_COLOUR = 0.35
_MIN_AREA_M2 = 0.02
_ACCEPT = 0.4
_AREA_MARGIN_M = 0.6
"""How far outside of its area a surface may be seen: localisation error and surfaces along the walls."""


def find_surface(
    view: View, supports: SupportPlanes, member: NDArray[np.uint8], entry: CatalogueEntry
) -> list[SegmentedObject]:
    """Return the surfaces of a view that may be `thing`, best first; parts of one top are joined."""
    x, y, height = entry.appearance.size_m
    length, width = max(x, y), min(x, y)
    coarse = member[::2, ::2]
    groups: list[list[SupportPlane]] = []
    for plane in supports.planes:
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
        long, short = _extents(points)
        if area < _MIN_AREA_M2 or long > 1.15 * length + 0.12 or short > 1.2 * width + 0.12:
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
