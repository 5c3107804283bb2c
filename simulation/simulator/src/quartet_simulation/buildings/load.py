"""From building.yaml to a Building."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from quartet_simulation.buildings.building import Building, Storey
from quartet_simulation.buildings.file import BuildingFile, StoreyEntry, faults_of
from quartet_simulation.buildings.floor import connected
from quartet_simulation.errors import BuildingFileError, SimulationError, UnknownNameError
from quartet_simulation.navigation.costmap import Costmap
from quartet_simulation.world_tool import GENERATED
from quartet_simulation.worlds import WORLD_FILE, WORLDS, World, find_world, load_world
from quartet_simulation.worlds.world import area_at
from quartet_site import Fault, SiteFileError, load_file

BUILDING_FILE = "building.yaml"
SLIM_M = 0.18
"""Half the width of the slimmest body that must get to stairs."""


def load_building(path: Path) -> Building:
    """Return the building of a file, or of the building.yaml in a folder.

    Raises BuildingFileError with all faults: file, line, value and what is valid.
    """
    made: list[Building] = []
    path = path / BUILDING_FILE if path.is_dir() else path

    def check(file: BuildingFile) -> list[Fault]:
        faults, worlds = list(faults_of(file)), list[World]()
        for number, entry in enumerate(file.storeys):
            try:
                worlds.append(_world_of(entry, path.parent))
            except SimulationError as error:
                faults.append((("storeys", number, "world"), str(error)))
        if faults:
            return faults
        storeys, elevation = dict[str, Storey](), 0.0
        for entry, world in zip(file.storeys, worlds, strict=True):
            storeys[entry.name] = Storey(entry.name, world, entry.height, elevation)
            elevation += entry.height
        made.append(Building(file.name, storeys, tuple(file.stairs)))
        return list(_stairs_faults(made[-1]))

    try:
        load_file(path, BuildingFile, "building file", check=check)
    except SiteFileError as error:
        raise BuildingFileError(str(error)) from error
    return made[-1]


def _world_of(entry: StoreyEntry, folder: Path) -> World:
    """Return the world of a storey. Raises WorldFileError, SimulationError, UnknownNameError."""
    if seed := GENERATED.fullmatch(entry.world):
        return _generated(int(seed[1]))
    if entry.world in WORLDS:
        return find_world(entry.world)
    if not (folder / entry.world).exists():
        raise UnknownNameError("world", entry.world, (*WORLDS, "a world file or its folder", "generated:SEED"))
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
    for number, stairs in enumerate(building.stairs):
        for field, end in (("from", stairs.start), ("to", stairs.end)):
            storey, place = building.storeys[end.storey], ("stairs", number, field)
            where = f"'{stairs.name}' ends at ({end.x:g}, {end.y:g}) on '{end.storey}'"
            if area_at(storey.world, end.x, end.y) is None:
                rooms = ", ".join(area.name for area in storey.world.areas)
                yield place, f"{where}, outside of all rooms; valid: a point in {rooms}"
                continue
            costmap = Costmap(storey.world, storey.model, storey.data, SLIM_M)
            clearance, least = costmap.clearance_at(end.x, end.y), costmap.lethal
            if clearance < least:
                text = f"{where}, {clearance:.2f} m from a wall or furniture; valid: at least {least:.2f} m"
                yield place, text
                continue
            parts = connected(costmap.clearance() >= least)
            most = np.bincount(parts[parts > 0]).argmax()
            if parts[costmap.cell(end.x, end.y)] != most:
                text = f"{where}, cut off from most of the storey; valid: a point that robots get to"
                yield place, text
