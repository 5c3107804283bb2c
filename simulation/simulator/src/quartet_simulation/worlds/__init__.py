"""Worlds by name."""

from quartet_simulation.errors import UnknownNameError
from quartet_simulation.worlds.home import HOME
from quartet_simulation.worlds.studio import STUDIO
from quartet_simulation.worlds.world import World

WORLDS: dict[str, World] = {world.name: world for world in (HOME, STUDIO)}


def find_world(name: str) -> World:
    """The world registered as `name`. Raises UnknownNameError."""
    if name not in WORLDS:
        raise UnknownNameError("world", name, WORLDS)
    return WORLDS[name]


__all__ = ["WORLDS", "World", "find_world"]
