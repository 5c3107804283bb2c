"""building.yaml: storeys and stairs of one building."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from quartet_simulation.worlds.piece import Finite, Length, Section
from quartet_site import Fault, Name


class StoreyEntry(Section):
    """A storey; the first is the lowest."""

    name: Name
    world: str
    """A world file or its folder, by its path from the folder of the building file; a world of the package by its
    name; generated:SEED."""
    height: Annotated[float, Field(gt=0, le=20, allow_inf_nan=False)]
    """From its floor to the floor of the next storey [m]."""


class End(Section):
    """End of stairs: a point on the floor of a storey [m]."""

    storey: str
    x: Finite
    y: Finite


class Stairs(Section):
    """Stairs between two storeys."""

    name: Name
    start: Annotated[End, Field(alias="from")]
    end: Annotated[End, Field(alias="to")]
    step_m: Length
    """Height of a step [m]."""
    slope_deg: Annotated[float, Field(gt=0, lt=90)]
    """Slope [degrees]."""


class BuildingFile(Section):
    """building.yaml, whole. Lengths in metres; all storeys have the same x and y."""

    name: Name
    storeys: Annotated[list[StoreyEntry], Field(min_length=1, max_length=10)]
    stairs: Annotated[list[Stairs], Field(max_length=20)] = []


def faults_of(file: BuildingFile) -> Iterator[Fault]:
    """Yield what is wrong with names in a file that fits the schema."""
    names = [storey.name for storey in file.storeys]
    for field, called in (("storeys", names), ("stairs", [one.name for one in file.stairs])):
        for number, name in enumerate(called):
            if name in called[:number]:
                yield (field, number, "name"), f"'{name}' is there twice; names must differ"
    for number, stairs in enumerate(file.stairs):
        for field, end in (("from", stairs.start), ("to", stairs.end)):
            if end.storey not in names:
                text = f"there is no storey '{end.storey}'; valid: {', '.join(names)}"
                yield ("stairs", number, field, "storey"), text
        if stairs.start.storey == stairs.end.storey:
            text = f"'{stairs.name}' begins and ends on '{stairs.end.storey}'; valid: two storeys"
            yield ("stairs", number, "to", "storey"), text
