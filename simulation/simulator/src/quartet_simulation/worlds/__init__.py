"""Worlds: those of this package by name, and anybody's own by its folder or file."""

from pathlib import Path

from quartet_simulation.errors import UnknownNameError
from quartet_simulation.worlds.load import WORLD_FILE, load_world
from quartet_simulation.worlds.world import World

FILES = Path(__file__).parent / "files"
WORLDS = tuple(sorted(path.stem for path in FILES.glob("*.yaml")))
"""Names of the worlds of this package."""


def find_world(name: str) -> World:
    """Return the world of this package called `name`, or the one of a folder or file at that path.

    Raises UnknownNameError, WorldFileError.
    """
    if name in WORLDS:
        return load_world(FILES / f"{name}.yaml")
    path = Path(name)
    if not path.exists():
        raise UnknownNameError("world", name, (*WORLDS, f"a folder with {WORLD_FILE}"))
    return load_world(path)


__all__ = ["WORLDS", "WORLD_FILE", "World", "find_world", "load_world"]
