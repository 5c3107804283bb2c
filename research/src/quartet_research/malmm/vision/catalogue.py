"""What may stand on the table, as a site file tells it: names, colours, shapes and sizes, no place and no number."""

from collections.abc import Iterable

from quartet_perception import Catalogue, CatalogueEntry
from quartet_perception.catalogue import Kind
from quartet_simulation.tabletop.appearance import (
    TABLE,
    TABLE_APPEARANCE,
    appearance_of,
    is_furniture,
    kind_of,
    sample_of,
)
from quartet_simulation.tabletop.things import COLOURS, Thing


def make_catalogue(things: Iterable[Thing]) -> Catalogue:
    """Return the catalogue of what a task has, each kind once, and of the table."""
    entries = {TABLE: CatalogueEntry(TABLE, "surface", TABLE_APPEARANCE)}
    for thing in things:
        if thing.told:
            name = kind_of(thing.name)
            fixed: Kind = "surface" if is_furniture(thing) else "container"
            entries[name] = CatalogueEntry(name, "object" if _moves(thing) else fixed, appearance_of(thing))
    return Catalogue(list(entries.values()))


def colour_of(sample: str) -> str:
    """Return the name of a colour of the table's things."""
    return next(name for name in COLOURS if sample_of(name) == sample)


def _moves(thing: Thing) -> bool:
    """Return whether a thing is one of several or moves; the others stand where they are, each the only one."""
    return thing.mass is not None or not thing.solid or kind_of(thing.name) != thing.name
