"""What is in a home and the robot knows nothing of: things that are in no catalogue, people, their parcels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import yaml

from quartet_simulation.errors import SimulationError, WorldFileError
from quartet_simulation.simulation import Simulation
from quartet_simulation.worlds import WORLD_FILE
from quartet_simulation.worlds.objects import CATALOGUE

Shape = tuple[str, str, tuple[float, float, float], float]
SHAPES: tuple[Shape, ...] = (
    ("milk carton", "box", (0.075, 0.075, 0.20), 0.5),
    ("cracker box", "box", (0.15, 0.05, 0.20), 0.2),
    ("jam jar", "cylinder", (0.078, 0.078, 0.125), 0.4),
    ("bowl", "bowl", (0.12, 0.12, 0.07), 0.3),
    ("saucer", "cylinder", (0.12, 0.12, 0.018), 0.2),
    ("vase", "cylinder", (0.085, 0.085, 0.19), 0.5),
    ("candle", "cylinder", (0.055, 0.055, 0.16), 0.3),
    ("glasses case", "box", (0.165, 0.065, 0.045), 0.1),
    ("paperback", "box", (0.18, 0.115, 0.02), 0.2),
    ("rubber ball", "sphere", (0.10, 0.10, 0.10), 0.1),
    ("spice tin", "cylinder", (0.045, 0.045, 0.085), 0.1),
)
"""Name, shape, size along x, y and z [m], mass [kg]: common things of a home, none as large as one of the catalogue."""
COLOURS = ("white", "cream", "grey", "brown", "beige", "pink", "black", "#3f8f8b", "#7a2f3d", "#c8a77a")
CARTON = "cracker box"
"""The one that is always there: other things may stand behind it."""


def add_unknown_things(folder: Path, count: int, seed: int, people: Sequence[str] = (), parcels: int = 0) -> list[str]:
    """Add `count` unknown things to the world of a folder, or as many as there is room for, and return their names.

    site.yaml stays as it is, so it names none of them. Every second one has the colour of a thing of the catalogue.
    `people` live there, with parcels, and are in the episodes whose scenario says so.
    """
    rng = Random(seed)
    file = folder / WORLD_FILE
    fields: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    places = sorted(
        {place for thing in fields["things"] for place in thing["places"] if not place.startswith("floor:")}
    )
    names = sorted({thing.get("like") or thing["name"] for thing in fields["things"]} & set(CATALOGUE))
    known = [CATALOGUE[name].rgb for name in names]
    carton = next(shape for shape in SHAPES if shape[0] == CARTON)
    others = rng.sample([shape for shape in SHAPES if shape is not carton], min(count, len(SHAPES)) - 1)
    unknown: list[dict[str, Any]] = [
        {
            "name": f"unknown {name}",
            "shape": shape,
            "size": list(size),
            "colour": list(rng.choice(known)) if number % 2 and known else rng.choice(COLOURS),
            "mass": mass,
            **_printed(shape, rng),
            "aliases": [],
            "places": rng.sample(places, len(places)),
        }
        for number, (name, shape, size, mass) in enumerate([carton, *others])
    ]
    # It may be a link to the file of the simulation.
    file.unlink()
    things = fields["things"]
    if people:
        fields["people"] = [*fields.get("people", []), *({"name": name} for name in people)]
    if parcels:
        fields["parcels"] = parcels
    while True:
        file.write_text(yaml.safe_dump({**fields, "things": [*things, *unknown]}, sort_keys=False), encoding="utf-8")
        if not unknown or _has_room(folder):
            return [thing["name"] for thing in unknown]
        unknown.pop()


def _printed(shape: str, rng: Random) -> dict[str, Any]:
    """Return the print of an unknown thing; half of those that people print on have one."""
    patterns = {"box": ("carton", "stripes", "grain"), "cylinder": ("label", "stripes", "mottled")}.get(shape, ())
    if not patterns or rng.random() < 0.5:
        return {}
    return {"print": rng.choice(patterns), "inks": [rng.choice(COLOURS) for _ in range(3)]}


def _has_room(folder: Path) -> bool:
    """Return whether there is room for all things of a world as it is at the start."""
    try:
        Simulation(str(folder), 0).close()
    except WorldFileError:
        # A fault of what was added: to leave it out in silence would make worlds easier than they are said to be.
        raise
    except SimulationError:
        return False
    return True
