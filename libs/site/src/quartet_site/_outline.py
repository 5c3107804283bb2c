"""Polygons on the floor: corners (x, y) in order, in metres; the last one joins the first."""

import math
from collections.abc import Iterator, Sequence

Corner = tuple[float, float]


def inside(outline: Sequence[Corner], x: float, y: float) -> bool:
    """Return whether a point is inside a polygon, by counting the edges that a ray along +x crosses.

    A point on an edge that two polygons share lies in one of them.
    """
    crossings = 0
    for (x1, y1), (x2, y2) in _edges(outline):
        if (y1 > y) != (y2 > y) and x < x1 + (y - y1) * (x2 - x1) / (y2 - y1):
            crossings += 1
    return crossings % 2 == 1


def distance_to_edge(outline: Sequence[Corner], x: float, y: float) -> float:
    """Return the distance of a point from the nearest edge of a polygon [m], inside and outside alike."""
    least = math.inf
    for (x1, y1), (x2, y2) in _edges(outline):
        dx, dy = x2 - x1, y2 - y1
        along = ((x - x1) * dx + (y - y1) * dy) / max(dx * dx + dy * dy, 1e-12)
        t = min(1.0, max(0.0, along))
        least = min(least, math.hypot(x1 + t * dx - x, y1 + t * dy - y))
    return least


def area_of(outline: Sequence[Corner]) -> float:
    """Return the area of a polygon [m2]."""
    return abs(sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in _edges(outline))) / 2


def _edges(outline: Sequence[Corner]) -> Iterator[tuple[Corner, Corner]]:
    return zip(outline, (*outline[1:], outline[0]), strict=True)
