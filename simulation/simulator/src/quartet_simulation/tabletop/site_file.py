"""The site file that fits a task at the table: names, colours and sizes of what is there, and no place of it."""

import re
from typing import Any

from quartet_simulation.tabletop.things import COLOURS, TABLE_Z, Thing
from quartet_simulation.tabletop.world import Tabletop
from quartet_simulation.worlds.site_file import dump_site

TABLE = "table top"
_NUMBER = re.compile(r" \d+$")
_STANDS_ON = frozenset({"grill"})
"""Things with a top on which others stand at the start."""


def site_text(table: Tabletop) -> str:
    """Return site.yaml for an episode: its names, colours and sizes, so that no place is known before it is seen."""
    return dump_site(describe_table(table), "# Derived from a task at the table. Lengths in metres, map frame.\n")


def describe_table(table: Tabletop) -> dict[str, Any]:
    """Return the content of site.yaml. Things that differ by a number alone are one entry."""
    surfaces = [_place(TABLE, ["wood", "#bfa88c"], "surface", (1.3, 1.5, TABLE_Z))]
    containers: list[dict[str, Any]] = []
    objects: list[dict[str, Any]] = []
    told = {kind_of(thing.name): thing for thing in table.things.values() if thing.told}
    for name, thing in told.items():
        x, y, z = thing.extents
        colours = [sample_of(thing.colour)]
        if not thing.solid or name in _STANDS_ON:
            top = thing.position[2] + z / 2
            surfaces.append(_place(name, colours, "surface", (x, y, top)))
        elif is_open(thing):
            containers.append(_place(name, colours, "container", (x, y, z)))
        else:
            objects.append(_object(name, thing, colours))
    return {
        "name": "tabletop",
        "description": f"A table with an arm on it, and what the task '{table.task.name}' lays there.",
        "areas": [
            {
                "name": "table",
                "aliases": ["workspace", "tabletop"],
                "entry": {"x": -0.3, "y": 0.0, "yaw": 0.0},
                "outline": [[-0.5, -0.75], [0.8, -0.75], [0.8, 0.75], [-0.5, 0.75]],
                "landmarks": [TABLE, *(place["name"] for place in (*surfaces[1:], *containers))],
            }
        ],
        "surfaces": surfaces,
        "containers": containers,
        "objects": objects,
    }


def kind_of(name: str) -> str:
    """Return the name that all things which look like this one share: `red block` of `red block 3`."""
    return _NUMBER.sub("", name)


def is_open(thing: Thing) -> bool:
    """Return whether a thing stands where it is and is open at its top: walls of plates round a hollow."""
    plates = [shape for shape in thing.shapes if shape.kind == "box" and shape.pos[:2] != (0.0, 0.0)]
    return thing.mass is None and thing.solid and len(plates) >= 4


def sample_of(colour: str) -> str:
    """Return '#rrggbb' of a colour of the table's things: their 20 names are not those of people (lime, azure)."""
    return "#" + "".join(f"{round(255 * value):02x}" for value in COLOURS[colour])


def _place(name: str, colours: list[str], shape: str, size: tuple[float, float, float]) -> dict[str, Any]:
    appearance = {"colours": colours, "shape": shape, "size_m": [round(value, 4) for value in size]}
    return {"name": name, "area": "table", "appearance": appearance}


def _object(name: str, thing: Thing, colours: list[str]) -> dict[str, Any]:
    first = thing.shapes[0]
    shape = first.kind if len(thing.shapes) == 1 or first.kind == "cylinder" else "box"
    appearance: dict[str, Any] = {"colours": colours, "shape": shape, "size_m": [round(v, 4) for v in thing.extents]}
    if len(thing.shapes) > 1 and first.kind == "cylinder":
        appearance["parts"] = [
            {
                "shape": "cylinder",
                "size_m": [round(value, 4) for value in (2 * radius, 2 * radius, 2 * half)],
                "offset_m": [one.pos[0], one.pos[1], round(one.pos[2] - half + thing.extents[2] / 2, 4)],
            }
            for one in thing.shapes
            for radius, half in [one.size]
        ]
    return {"name": name, "appearance": appearance, "mass_kg": thing.mass or 1.0}
