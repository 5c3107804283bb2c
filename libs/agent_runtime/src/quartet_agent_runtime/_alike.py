"""Things that look alike: which sightings are of one that had not been there before."""

import math
from collections.abc import Sequence

from quartet_contracts import AlikeThing, Position
from quartet_contracts.tools.perception import SAME_PLACE_M, Detection


def new_detections(seen: Sequence[Detection], before: Sequence[AlikeThing]) -> list[Detection]:
    """Return those of `seen` that none of the things `before` accounts for, in the same order.

    Without a position in the map frame nothing can be told apart: such a detection is new only if `before` is empty.
    """
    places = [one.position_map for one in seen]
    new = new_places([place for place in places if place is not None], before)
    return [one for one, place in zip(seen, places, strict=True) if not before or place in new]


def new_places(seen: Sequence[Position], before: Sequence[AlikeThing]) -> list[Position]:
    """Return those of the places `seen` that none of the things `before` accounts for [m, map frame].

    Each thing accounts for one place at most, the nearest within SAME_PLACE_M: of two things side by side, one is new
    where there was one before.
    """
    distances = ((math.dist(a, b.position), i, j) for i, a in enumerate(seen) for j, b in enumerate(before))
    accounted: dict[int, int] = {}
    for distance, i, j in sorted(distances):
        if distance <= SAME_PLACE_M and i not in accounted and j not in accounted.values():
            accounted[i] = j
    return [place for i, place in enumerate(seen) if i not in accounted]
