"""From the names that are asked for to the words that a model is given."""

from quartet_perception.asked import Asked
from quartet_perception.colour import COLOUR_WORDS


def query_of(asked: Asked) -> str:
    """What a model is asked for: the name, with the colour that the catalogue gives the thing where the name has none,
    since "mug" is every mug. Colour samples (#rrggbb) say nothing to a model and are left out."""
    words = plain(asked.name).split()
    if asked.thing is None or asked.thing.kind != "object" or COLOUR_WORDS.intersection(words):
        return " ".join(words)
    described = [c for c in asked.thing.appearance.colours if c in COLOUR_WORDS]
    return " ".join([*described[:1], *words])


def plain(text: str) -> str:
    """`text` in lower case without what separates phrases for a model: Grounding DINO takes "." and "?" as the end of
    a phrase, so a name with one in it would come apart into two."""
    return " ".join("".join(c if c.isalnum() or c in "'-" else " " for c in text.lower()).split())
