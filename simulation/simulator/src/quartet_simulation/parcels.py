"""Parcels: what people fill a place with, so that nothing else has room on it."""

from __future__ import annotations

import math

from quartet_simulation.errors import SimulationError
from quartet_simulation.physics import Physics
from quartet_simulation.reachability import top_at
from quartet_simulation.worlds.objects import PARCEL_SIZE
from quartet_simulation.worlds.placement import Spot
from quartet_simulation.worlds.world import SurfaceInfo

GAP_M = 0.10
"""Free space between two parcels, or a parcel and the edge, at most [m]: an open gripper has no room there."""
FLAT_M = 0.01
"""How far from the height of a surface something on it may be that is no obstacle [m], such as a sink."""
LONG, WIDE, _ = PARCEL_SIZE


def covering(physics: Physics, surface: SurfaceInfo, available: int, *, room_for_one: bool = False) -> list[Spot]:
    """Return where parcels stand that cover a surface on which nothing else stands.

    Args:
        physics: of the world, positions up to date.
        surface: to be covered.
        available: number of parcels there are.
        room_for_one: whether the parcel is left out that would stand where things usually do.

    Raises:
        SimulationError: They do not suffice, or the surface is not flat and rectangular.
    """
    x0, y0, x1, y1 = surface.rect
    choices: list[list[Spot]] = []
    for yaw, size in ((0.0, (LONG, WIDE)), (math.pi / 2, (WIDE, LONG))):
        columns, rows = (_count(to - low, side) for low, to, side in ((x0, x1, size[0]), (y0, y1, size[1])))
        if columns and rows:
            xs, ys = _middles(x0, x1, columns, size[0]), _middles(y0, y1, rows, size[1])
            choices.append([Spot(x, y, surface.height, yaw, surface.name) for x in xs for y in ys])
    if not choices or len(spots := min(choices, key=len)) > available:
        raise SimulationError(
            f"'{surface.name}' of {physics.world.name} cannot be filled: it is {x1 - x0:.2f} x {y1 - y0:.2f} m and "
            f"there are {available} parcels of {LONG} x {WIDE} m"
        )
    if not all(_is_flat(physics, spot) for spot in spots):
        raise SimulationError(
            f"'{surface.name}' of {physics.world.name} cannot be filled: it is round, or carries more"
        )
    if room_for_one:
        strip = surface.strips[0]
        usual = (strip[0] + strip[2]) / 2, (strip[1] + strip[3]) / 2
        spots.remove(min(spots, key=lambda spot: math.dist((spot.x, spot.y), usual)))
    return spots


def _count(length: float, side: float) -> int:
    """Return how many parcels in a row leave gaps of GAP_M at most, 0 where that cannot be."""
    count = max(1, math.ceil((length - GAP_M) / (side + GAP_M)))
    return count if count * side <= length else 0


def _middles(low: float, high: float, count: int, side: float) -> list[float]:
    gap = (high - low - count * side) / (count + 1)
    return [low + gap + side / 2 + number * (side + gap) for number in range(count)]


def _is_flat(physics: Physics, spot: Spot) -> bool:
    """Return whether the top of a surface is under all of a parcel, and nothing else of the furniture."""
    c, s = math.cos(spot.yaw), math.sin(spot.yaw)
    for along in (-1, 0, 1):
        for across in (-1, 0, 1):
            dx, dy = along * LONG / 2, across * WIDE / 2
            x, y = spot.x + c * dx - s * dy, spot.y + s * dx + c * dy
            top = top_at(physics, x, y, spot.support_z + 1.0)
            if top is None or abs(top - spot.support_z) > FLAT_M:
                return False
    return True
