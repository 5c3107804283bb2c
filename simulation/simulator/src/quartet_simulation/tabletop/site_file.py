"""The site file that fits a task at the table: names, colours and sizes of what is there, and no place of it."""

from typing import Any

from quartet_simulation.tabletop.appearance import TABLE, TABLE_APPEARANCE, appearance_of, is_furniture, kind_of
from quartet_simulation.tabletop.things import TABLE_Z, Thing
from quartet_simulation.tabletop.world import NEAR_EDGE, Tabletop, half_length
from quartet_simulation.worlds.site_file import dump_site
from quartet_site.site import Appearance


def site_text(table: Tabletop) -> str:
    """Return site.yaml for an episode: its names, colours and sizes, so that no place is known before it is seen."""
    return dump_site(describe_table(table), "# Derived from a task at the table. Lengths in metres, map frame.\n")


def describe_table(table: Tabletop) -> dict[str, Any]:
    """Return the content of site.yaml. Things that differ by a number alone are one entry."""
    length = 2 * half_length(len(table.placed))
    arms = "an arm" if len(table.placed) == 1 else f"{len(table.placed)} arms"
    near, far = NEAR_EDGE, NEAR_EDGE + length
    surfaces = [_place(TABLE, TABLE_APPEARANCE.model_copy(update={"size_m": (length, 1.5, TABLE_Z)}))]
    containers: list[dict[str, Any]] = []
    objects: list[dict[str, Any]] = []
    told = {kind_of(thing.name): thing for thing in table.things.values() if thing.told}
    for name, thing in told.items():
        appearance = appearance_of(thing)
        if not thing.solid or is_furniture(thing):
            # A drawn mark is a surface of its colour, so that things can be put on it.
            x, y, z = thing.extents
            top = x, y, thing.position[2] + z / 2
            surfaces.append(_place(name, appearance.model_copy(update={"shape": "surface", "size_m": top})))
        elif is_open(thing):
            containers.append(_place(name, appearance))
        else:
            mass = thing.mass or 1.0
            objects.append({"name": name, "appearance": _as_written(appearance), "mass_kg": mass})
    return {
        "name": "tabletop",
        "description": f"A table with {arms} on it, and what the task '{table.task.name}' lays there.",
        "areas": [
            {
                "name": "table",
                "aliases": ["workspace", "tabletop"],
                "entry": {"x": -0.3, "y": 0.0, "yaw": 0.0},
                "outline": [[near, -0.75], [far, -0.75], [far, 0.75], [near, 0.75]],
                "landmarks": [TABLE, *(place["name"] for place in (*surfaces[1:], *containers))],
            }
        ],
        "surfaces": surfaces,
        "containers": containers,
        "objects": objects,
    }


def is_open(thing: Thing) -> bool:
    """Return whether a thing stands where it is and is open at its top: walls of plates round a hollow."""
    plates = [shape for shape in thing.shapes if shape.kind == "box" and shape.position[:2] != (0.0, 0.0)]
    return thing.mass is None and thing.solid and len(plates) >= 4


def _place(name: str, appearance: Appearance) -> dict[str, Any]:
    return {"name": name, "area": "table", "appearance": _as_written(appearance)}


def _as_written(appearance: Appearance) -> dict[str, Any]:
    written = appearance.model_dump(mode="json", exclude_defaults=True)
    for one in (written, *written.get("parts", ())):
        one["size_m"] = [round(value, 4) for value in one["size_m"]]
    for part in written.get("parts", ()):
        part["offset_m"] = [round(value, 4) for value in part["offset_m"]]
    return written
