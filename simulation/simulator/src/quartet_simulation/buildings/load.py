"""From building.yaml to a Building."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy import ndimage

from quartet_simulation.buildings.building import Building, End, Stairs, Storey
from quartet_simulation.buildings.file import BuildingFile, StoreyEntry, faults_of
from quartet_simulation.errors import BuildingFileError, SimulationError, UnknownNameError
from quartet_simulation.navigation.costmap import Costmap
from quartet_simulation.world_tool import GENERATED
from quartet_simulation.worlds import WORLD_FILE, WORLDS, World, find_world, load_world
from quartet_simulation.worlds.world import area_at
from quartet_site import Fault, SiteFileError, load_file

BUILDING_FILE = "building.yaml"
SLIM = 0.18
"""Half the width of the slimmest body that must get to stairs [m]."""


def load_building(path: Path) -> Building:
    """Return the building of a file, or of the building.yaml in a folder.

    Raises BuildingFileError with all faults: file, line, value and what is valid.
    """
    file = path / BUILDING_FILE if path.is_dir() else path
    # A file that was edited is read again, and so are the worlds next to it.
    beside = sorted(file.parent.iterdir()) if file.is_file() else []
    return _loaded(file, tuple(one.stat().st_mtime_ns for one in beside if one.is_file()))


@lru_cache(maxsize=32)
def _loaded(path: Path, _changed: tuple[int, ...]) -> Building:
    made: list[Building] = []

    def check(file: BuildingFile) -> list[Fault]:
        faults = list(faults_of(file))
        worlds: dict[str, World] = {}
        for number, entry in enumerate(file.storeys):
            try:
                worlds[entry.name] = _world_of(entry, path.parent)
            except SimulationError as error:
                faults.append((("storeys", number, "world"), str(error)))
        if not faults:
            made.append(_made(file, worlds))
            faults = list(_stairs_faults(made[-1]))
        return faults

    try:
        load_file(path, BuildingFile, "building file", check=check)
    except SiteFileError as error:
        raise BuildingFileError(str(error)) from error
    return made[-1]


def _made(file: BuildingFile, worlds: dict[str, World]) -> Building:
    storeys, elevation = dict[str, Storey](), 0.0
    for entry in file.storeys:
        storeys[entry.name] = Storey(entry.name, worlds[entry.name], entry.height, elevation)
        elevation += entry.height
    stairs = tuple(
        Stairs(one.name, (End(**one.start.model_dump()), End(**one.end.model_dump())), one.step_m, one.slope_deg)
        for one in file.stairs
    )
    return Building(file.name, storeys, stairs)


def _world_of(entry: StoreyEntry, folder: Path) -> World:
    """Return the world of a storey. Raises WorldFileError, SimulationError, UnknownNameError."""
    if seed := GENERATED.fullmatch(entry.world):
        return _generated(int(seed[1]))
    if entry.world in WORLDS:
        return find_world(entry.world)
    if not (folder / entry.world).exists():
        beside = sorted(path.name for path in folder.glob("*.yaml") if path.name != BUILDING_FILE)
        raise UnknownNameError(
            "world", entry.world, (*WORLDS, *beside, f"a folder with {WORLD_FILE}", "generated:SEED")
        )
    return load_world(folder / entry.world)


@lru_cache(maxsize=32)
def _generated(seed: int) -> World:
    # It builds worlds with robots in them, which other storeys do not need.
    from quartet_simulation.world_tool.generate import generate

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / WORLD_FILE).write_text(generate(seed), encoding="utf-8")
        return load_world(Path(folder))


def _stairs_faults(building: Building) -> Iterator[Fault]:
    """Yield which stairs end where no robot gets to them."""
    floors = dict[str, tuple[Costmap, np.ndarray]]()
    for number, stairs in enumerate(building.stairs):
        for field, end in zip(("from", "to"), stairs.ends, strict=True):
            storey, place = building.storeys[end.storey], ("stairs", number, field)
            where = f"'{stairs.name}' ends at ({end.x:g}, {end.y:g}) on '{end.storey}'"
            if area_at(storey.world, end.x, end.y) is None:
                rooms = ", ".join(area.name for area in storey.world.areas)
                yield place, f"{where}, outside of all rooms; valid: a point in one of {rooms}"
                continue
            if end.storey not in floors:
                costmap = Costmap(storey.world, storey.model, storey.data, SLIM)
                free = costmap.clearance() >= costmap.lethal
                floors[end.storey] = costmap, ndimage.label(free, structure=np.ones((3, 3)))[0]
            costmap, parts = floors[end.storey]
            if (clearance := costmap.clearance_at(end.x, end.y)) < costmap.lethal:
                yield (
                    place,
                    f"{where}, {clearance:.2f} m from a wall or furniture; valid: at least {costmap.lethal:.2f} m",
                )
            elif parts[costmap.cell(end.x, end.y)] != (main := np.bincount(parts[parts > 0]).argmax()):
                share = (parts == main).sum() / (parts > 0).sum()
                yield (
                    place,
                    f"{where}, where no robot gets to from the rest of the storey; valid: a point in the connected "
                    f"{share:.0%} of its floor",
                )
