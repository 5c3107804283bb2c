"""Where the objects of an episode stand: random by seed, apart from each other, seen and reached from their area."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from quartet_simulation.worlds.world import World

GAP = 0.10
"""Free space between two objects: room for an open finger [m]."""
CROWDED_GAP = 0.035
FLOOR_GAP = 0.5
ATTEMPTS = 200


@dataclass(frozen=True)
class Spot:
    """An object's place: position of its centre on the floor plan, height of what it stands on, yaw."""

    x: float
    y: float
    support_z: float
    yaw: float
    home: str


def choose_homes(
    world: World, seed: int, rng: np.random.Generator, absent: set[str], crowded: bool = False
) -> dict[str, str]:
    """Return a home for each object of the world.

    Fixed layouts come first; the rest is drawn, or in a crowded world the first home of the list, so that few surfaces
    hold much.
    """
    fixed = world.fixed.get(seed, {})
    return {
        name: fixed.get(name, homes[0 if crowded else int(rng.integers(len(homes)))])
        for name, homes in world.homes.items()
        if name not in absent
    }


def draw_spot(world: World, name: str, home: str, rng: np.random.Generator) -> Spot:
    """Return a random spot for `name` in `home`, without any check."""
    if home.startswith("floor:"):
        _, rect = world.floor_zones[home.removeprefix("floor:")]
        height = 0.0
    else:
        surface = world.surface(home)
        if surface is None:
            raise KeyError(f"'{home}' of '{name}' is neither a surface of {world.name} nor a floor zone")
        rect = surface.strips[int(rng.integers(len(surface.strips)))]
        height = surface.height
    x0, y0, x1, y1 = rect
    return Spot(
        float(rng.uniform(x0, x1)), float(rng.uniform(y0, y1)), height, float(rng.uniform(-math.pi, math.pi)), home
    )


def area_of(world: World, home: str) -> str:
    """Return the name of the area of a home."""
    if home.startswith("floor:"):
        return world.floor_zones[home.removeprefix("floor:")][0]
    surface = world.surface(home)
    assert surface is not None
    return surface.area


def apart(world: World, name: str, spot: Spot, placed: dict[str, Spot], table_gap: float = GAP) -> bool:
    """Return whether `spot` is far enough from every placed object."""
    radius = world.kinds[name].radius
    for other, there in placed.items():
        if abs(there.support_z - spot.support_z) > 0.3:
            continue
        gap = table_gap if spot.support_z > 0 else FLOOR_GAP
        if math.hypot(spot.x - there.x, spot.y - there.y) < radius + world.kinds[other].radius + gap:
            return False
    return True
