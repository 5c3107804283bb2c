"""Queries: the words that a model is given for the requested names, and what it finds for them, before depth."""

from collections.abc import Iterable
from dataclasses import dataclass

from quartet_perception.scene.colour import COLOUR_WORDS
from quartet_perception.scene.view import Box, Mask
from quartet_perception.segmenters.lift import overlap
from quartet_perception.segmenters.requested_names import RequestedName

SAME_PLACE = 0.7
"""Overlap (intersection over union of the boxes) from which two boxes are the same object, whatever their queries."""
MAX_DETECTIONS = 100
"""The `http` segmenter takes as many."""


@dataclass(frozen=True)
class QueryDetection:
    """One object that a model found.

    query: index of the query that it answers. score: 0 to 1. box: x_min, y_min, x_max, y_max [pixels].
    mask: HxW, or None where only the box is known.
    """

    query: int
    score: float
    box: Box
    mask: Mask | None = None


def one_per_place(detections: Iterable[QueryDetection]) -> list[QueryDetection]:
    """Return the best detection of each place in the picture, best first, at most MAX_DETECTIONS.

    Other names do not count as other places: a can that looks a little like another can that was asked for is not both.
    """
    kept: list[QueryDetection] = []
    for one in sorted(detections, key=lambda d: -d.score):
        if len(kept) == MAX_DETECTIONS:
            break
        if not any(overlap(one.box, other.box) > SAME_PLACE for other in kept):
            kept.append(one)
    return kept


def query_of(name: RequestedName) -> str:
    """Return what a model is asked for: the name, with the catalogue's colour where the name has none.

    Without a colour, "mug" is every mug. Colour samples (#rrggbb) say nothing to a model and are left out.
    """
    words = plain_text(name.name).split()
    if name.entry is None or name.entry.kind != "object" or COLOUR_WORDS.intersection(words):
        return " ".join(words)
    described = [c for c in name.entry.appearance.colours if c in COLOUR_WORDS]
    return " ".join([*described[:1], *words])


def plain_text(text: str) -> str:
    """Return `text` in lower case without the signs that separate phrases for a model.

    Grounding DINO takes "." and "?" as the end of a phrase, so a name with one in it would become two.
    """
    return " ".join("".join(c if c.isalnum() or c in "'-" else " " for c in text.lower()).split())
