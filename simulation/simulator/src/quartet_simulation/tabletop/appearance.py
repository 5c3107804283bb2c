"""What the table's things look like, as a site file tells it: colours, shapes and sizes, no place and no number."""

import re

import mujoco
import numpy as np

from quartet_simulation.table_arms import Shape
from quartet_simulation.tabletop.things import COLOURS, TABLE_Z, Thing
from quartet_site.site import Appearance, Part

TABLE = "table top"
TABLE_APPEARANCE = Appearance(colours=["wood", "#bfa88c"], shape="surface", size_m=(1.3, 1.5, TABLE_Z))
_FURNITURE_M2, _GAP_M, _THICK_M = 0.03, 0.03, 0.005
"""Area of a top on which things stand; the most that a fixed thing is over the table; half the thickness of a wall."""
_NUMBER = re.compile(r" \d+$")


def kind_of(name: str) -> str:
    """Return the name that all things which look like this one share: `red block` of `red block 3`."""
    return _NUMBER.sub("", name)


def sample_of(colour: str) -> str:
    """Return '#rrggbb' of a colour of the table's things: their 20 names are not those of people (lime, azure)."""
    return "#" + "".join(f"{round(255 * value):02x}" for value in COLOURS[colour])


def is_furniture(thing: Thing) -> bool:
    """Return whether other things stand on its top, as on the grill or on the base of the spokes."""
    x, y, _ = thing.extents
    return thing.mass is None and thing.solid and len(thing.shapes) == 1 and x * y >= _FURNITURE_M2


def appearance_of(thing: Thing) -> Appearance:
    """Return colour, shape and size of a thing as a person would write them into a site file."""
    x, y, z = thing.extents
    # As a person measures it, from the table or, of furniture, from the floor.
    gap = thing.position[2] - z / 2 - TABLE_Z
    z += gap if thing.mass is None and gap < _GAP_M else 0.0
    z += TABLE_Z if is_furniture(thing) else 0.0
    first = thing.shapes[0]
    parts: list[Part] = []
    match first.kind:
        case "sphere":
            shape = "sphere"
        case "cylinder":
            shape = "cylinder"
            if len(thing.shapes) > 1:
                parts = [_part(one, z) for one in thing.shapes]
        case _:
            plates = len(thing.shapes) >= 8
            # A thick wall looks like a solid with a hole, a thin one like an open vessel.
            thick = plates and max(one.size[0] for one in thing.shapes) > _THICK_M
            shape = "cylinder" if thick else "bowl" if plates else "container" if len(thing.shapes) == 5 else "box"
            shape = "surface" if is_furniture(thing) else shape
            if len(thing.shapes) == 4:
                parts = [_bar(one) for one in thing.shapes]
    return Appearance(colours=[sample_of(thing.colour)], shape=shape, size_m=(x, y, z), parts=parts)


def _part(shape: Shape, height: float) -> Part:
    radius, half = shape.size
    bottom = shape.position[2] - half + height / 2
    return Part(
        shape="cylinder",
        size_m=(2 * radius, 2 * radius, 2 * half),
        offset_m=(shape.position[0], shape.position[1], bottom),
    )


def _bar(shape: Shape) -> Part:
    """Return a bar of a frame, which lies along one of its sides."""
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, shape.quaternion)
    x, y, z = (2 * np.abs(matrix.reshape(3, 3)) @ shape.size).tolist()
    return Part(shape="box", size_m=(x, y, z), offset_m=(shape.position[0], shape.position[1], 0.0))
