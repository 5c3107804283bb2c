"""Whether a robot that sets off soon meets another one that drives already, and where on its route."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

Point = tuple[float, float]
"""x, y [m] in the map frame."""
SPACING_M = 0.3
"""Distance of the points of two routes that are compared [m]."""
SAME_WAY = 0.5
"""Two robots whose headings have a scalar product above this follow one another."""
LEAD_M = 3.0
"""Who is past a place when the other one is still this far from it [m] does not meet it there."""
SOON_M, NEAR_M = 5.0, 8.0
"""Of this robot's route, and of the other one's, so much is compared [m].

Where two would meet later depends on what comes in between, and Nav2 sees it then: four robots that waited for every
meeting on their whole routes lost more time than they saved.
"""


@dataclass(frozen=True)
class Pass:
    """A point of a route: where, in which direction (a unit vector), and how far from where the robot is now [m]."""

    at: Point
    heading: Point
    ahead_m: float


def passes(points: Sequence[Point], driven_m: float = 0.0) -> list[Pass]:
    """Return what is left of a route after `driven_m`, as points about SPACING_M apart; at least its end."""
    return [one for one in _passes(points, driven_m) if one.ahead_m >= 0.0] or [Pass(points[-1], (0.0, 0.0), 0.0)]


def _passes(points: Sequence[Point], driven_m: float) -> Iterator[Pass]:
    ahead, heading = -driven_m, (0.0, 0.0)
    for (ax, ay), (bx, by) in pairwise(points):
        length = math.dist((ax, ay), (bx, by))
        if length <= 0:
            continue
        heading = (bx - ax) / length, (by - ay) / length
        count = max(1, round(length / SPACING_M))
        for number in range(count):
            share = number / count
            yield Pass((ax + share * (bx - ax), ay + share * (by - ay)), heading, ahead + share * length)
        ahead += length
    yield Pass(points[-1], heading, ahead)


def distance_to(route: Sequence[Pass], point: Point) -> float:
    """Return how near a route comes to a point [m]."""
    return min(math.dist(one.at, point) for one in route)


def meets_after(mine: Sequence[Pass], theirs: Sequence[Pass], apart_m: float) -> float | None:
    """Return how far this robot may drive before it is where it would meet another one [m]; None if they do not meet.

    They meet in opposite directions or across, or where this one's route ends on the other one's way.

    Args:
        mine: this robot's route.
        theirs: what is left of that of a robot that drives.
        apart_m: nearer to each other than this the two have no room side by side.
    """
    near = [*_near(mine, theirs, apart_m), *((one, other) for other, one in _near(theirs, mine, apart_m))]
    soon = [(one, other) for one, other in near if one.ahead_m <= SOON_M and other.ahead_m <= NEAR_M]
    met = [(one.ahead_m, other.ahead_m) for one, other in soon if _against(one.heading, other.heading)]
    # Where both have the same goal, it is for Nav2 to find it occupied.
    goal, in_its_way = mine[-1], math.dist(theirs[-1].at, mine[-1].at) > apart_m
    stands = [other.ahead_m for one, other in soon if one is goal and other.ahead_m > goal.ahead_m and in_its_way]
    past_first = not stands and all(ahead + LEAD_M <= there for ahead, there in met)
    met += [(goal.ahead_m, there) for there in stands]
    if past_first or all(there + LEAD_M <= ahead for ahead, there in met):
        return None
    return min(ahead for ahead, _ in met)


def _near(one: Sequence[Pass], other: Sequence[Pass], apart_m: float) -> Iterator[tuple[Pass, Pass]]:
    """Each point of `one` with the nearest one of `other`, where that is near.

    Nearest, so that a robot that follows another one round a corner does not cross its way.
    """
    for here in one:
        there = min(other, key=lambda two: math.dist(two.at, here.at))
        if math.dist(here.at, there.at) <= apart_m:
            yield here, there


def _against(one: Point, other: Point) -> bool:
    return one[0] * other[0] + one[1] * other[1] <= SAME_WAY
