"""What the models saw, before depth: boxes and masks of queries, one for each place in the picture."""

from collections.abc import Iterable
from dataclasses import dataclass

from quartet_perception.lift import Box, overlap
from quartet_perception.view import Mask

SAME_PLACE = 0.7
"""Overlap (intersection over union of the boxes) from which two boxes are the same thing, whatever they are called."""
MAX_SEEN = 100
"""The `http` segmenter takes as many."""


@dataclass(frozen=True)
class Seen:
    """One thing that a model saw.

    query: which of the queries it answers. score: 0 to 1. box: x_min, y_min, x_max, y_max [pixels].
    mask: HxW, or None where only the box is known.
    """

    query: int
    score: float
    box: Box
    mask: Mask | None = None


def one_per_place(seen: Iterable[Seen]) -> list[Seen]:
    """The best first, none of them where a better one is, also not under another name: a can that is a little like
    the other can that was asked for is not both. At most MAX_SEEN."""
    kept: list[Seen] = []
    for one in sorted(seen, key=lambda s: -s.score):
        if len(kept) == MAX_SEEN:
            break
        if not any(overlap(one.box, other.box) > SAME_PLACE for other in kept):
            kept.append(one)
    return kept
