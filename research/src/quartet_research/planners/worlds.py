"""Worlds of the planners: the four grid worlds, and the table with arms."""

import functools

from quartet_research.harness.errors import UnknownWorldError
from quartet_research.harness.world import World
from quartet_research.planners import grid_worlds
from quartet_research.planners.arm_table import ARM_COUNTS, ArmTable, lower_bound

TABLE = ArmTable.name
GRIDS = tuple(grid_worlds.WORLDS)
WORLDS: dict[str, type[World]] = {**grid_worlds.WORLDS, TABLE: ArmTable}
SIZES: dict[str, tuple[int, ...]] = {**grid_worlds.PUBLISHED_ROBOTS, TABLE: ARM_COUNTS}
"""Published numbers of robots of each world."""


def make(world: str, robots: int, seed: int) -> World:
    """Return the instance of a seed. Raises UnknownWorldError, SizeError."""
    if world not in WORLDS:
        raise UnknownWorldError(f"there is no world '{world}'; valid: {', '.join(WORLDS)}")
    return ArmTable.generate(robots, seed) if world == TABLE else grid_worlds.make(world, robots, seed)


@functools.cache
def reference_steps(world: str, robots: int, seed: int) -> int:
    """Return the steps of the reference solution; at the table, a lower bound."""
    instance = make(world, robots, seed)
    return lower_bound(instance) if isinstance(instance, ArmTable) else grid_worlds.reference(instance).steps
