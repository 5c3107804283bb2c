"""Polygons on the floor: corners (x, y) in order, in metres; the last one joins the first."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from quartet_site._section import Finite
from quartet_site.errors import field_error

Corner = tuple[float, float]
SMALLEST_M2 = 0.01
"""Smallest area of a polygon; less is a typing mistake."""


def _encloses_an_area(outline: list[Corner]) -> list[Corner]:
    for (first, one), (second, other) in itertools.combinations(enumerate(_edges(outline), 1), 2):
        if _cross(one, other):
            raise field_error(
                f"edge {first}, {_shown(one)}, crosses edge {second}, {_shown(other)}; valid: corners in the order in "
                "which a walk along the edge passes them"
            )
    if area_of(outline) < SMALLEST_M2:
        raise field_error(f"the polygon has an area of {area_of(outline):.3f} m2, at least {SMALLEST_M2} is valid")
    return outline


Outline = Annotated[list[tuple[Finite, Finite]], Field(min_length=3), AfterValidator(_encloses_an_area)]
"""Corners of a polygon in order [m], whose edges do not cross."""


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


def _cross(one: tuple[Corner, Corner], other: tuple[Corner, Corner]) -> bool:
    """Return whether two edges cross; edges that only touch do not."""
    return all(_side(*edge, a) * _side(*edge, b) < 0 for edge, (a, b) in ((one, other), (other, one)))


def _side(start: Corner, end: Corner, point: Corner) -> float:
    """Return a number above 0 if the point is on the left of the line through two others, below 0 if on the right."""
    return (end[0] - start[0]) * (point[1] - start[1]) - (end[1] - start[1]) * (point[0] - start[0])


def _shown(edge: tuple[Corner, Corner]) -> str:
    return " to ".join(f"({x:g}, {y:g})" for x, y in edge)


def _edges(outline: Sequence[Corner]) -> Iterator[tuple[Corner, Corner]]:
    return zip(outline, (*outline[1:], outline[0]), strict=True)
