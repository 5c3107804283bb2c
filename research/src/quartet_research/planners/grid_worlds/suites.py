"""The published sizes and limits, and further ones."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from quartet_research.harness.errors import SizeError, StateError, UnknownWorldError
from quartet_research.harness.world import World
from quartet_research.planners.grid_worlds.boxlift import BoxLift
from quartet_research.planners.grid_worlds.boxnet1 import BoxNet1
from quartet_research.planners.grid_worlds.boxnet2 import BoxNet2
from quartet_research.planners.grid_worlds.warehouse import Warehouse

WORLDS: dict[str, type[World]] = {world.name: world for world in (BoxNet1, BoxNet2, Warehouse, BoxLift)}
PUBLISHED_ROBOTS = {
    "boxnet1": (4, 8, 16, 32),
    "boxnet2": (4, 8, 16, 32),
    "warehouse": (4, 6, 8, 10),
    "boxlift": (4, 6, 8, 10),
}
"""Numbers of robots of the paper."""
MOST_ROBOTS = 100
_GRIDS = {4: (2, 2), 8: (2, 4), 16: (4, 4), 32: (4, 8)}


def make(world: str, robots: int, seed: int) -> World:
    """Return the instance of a world that this seed draws.

    The same seed gives the same instance on every machine (NumPy's PCG64).

    Args:
        world: a key of `WORLDS`.
        robots: 2 to 100; grids need a number that has a divisor, since each cell has one arm.
        seed: at least 0.

    Raises:
        UnknownWorldError, SizeError.
    """
    if world not in WORLDS:
        raise UnknownWorldError(f"there is no world '{world}'; valid: {', '.join(WORLDS)}")
    if not 2 <= robots <= MOST_ROBOTS:
        raise SizeError(f"{world} with {robots} robots: from 2 to {MOST_ROBOTS} are possible")
    rng = np.random.default_rng([list(WORLDS).index(world), robots, seed])
    if world == "warehouse":
        return Warehouse.generate(robots, rng, 40 if robots >= 8 else 30)
    if world == "boxlift":
        return BoxLift.generate(robots, rng, 25 if robots >= 8 else 20)
    grid = _GRIDS.get(robots) or _grid(world, robots)
    return (BoxNet1 if world == "boxnet1" else BoxNet2).generate(grid, rng, 40 if robots >= 32 else 30)


def from_state(state: Mapping[str, Any]) -> World:
    """Return the world whose `state` this is. Raises StateError."""
    name = state.get("world")
    if name not in WORLDS:
        raise StateError(f"'world' is {name!r}; valid: {', '.join(WORLDS)}")
    return WORLDS[name].from_state(state)


def _grid(world: str, robots: int) -> tuple[int, int]:
    rows = next((rows for rows in range(math.isqrt(robots), 1, -1) if robots % rows == 0), 1)
    if rows == 1 and robots > 3:
        raise SizeError(
            f"{world} with {robots} robots: a grid of so many cells has one row; take a number with divisors"
        )
    return rows, robots // rows
