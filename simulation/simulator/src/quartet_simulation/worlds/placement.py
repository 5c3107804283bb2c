"""Where the objects of an episode may stand: random by seed and apart from each other."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from quartet_simulation.worlds.world import Rect, SurfaceInfo, World

FLOOR_GAP = 0.5
ATTEMPTS = 200
HIDDEN_SHARE = 0.25
"""How much of an object may be in view at most that stands behind another one."""
BEHIND_M = (0.02, 0.06)
"""Free space between an object and what hides it: from, to [m]."""
FROM_EDGE = 0.015
"""Between what hides an object and the edge of their surface [m]."""
AT_EDGE_M = (0.02, 0.04)
"""Between an object at an edge and that edge: from, to [m]; all of it stands on the surface."""
BESIDE_M = (0.01, 0.05)
"""Free space between an object and the one that it is put beside: from, to [m]."""


@dataclass(frozen=True)
class Spacing:
    """How close objects stand."""

    gap: float
    """Least free space between two objects on furniture, as circles around their footprints [m]."""
    visible_share: float
    """How much of an object must be in view from the entry of its area."""
    gathered: bool
    """Whether objects stand at the first of their homes, so that few surfaces hold much."""
    beside: float = 0.0
    """Share of the objects that are put beside one that stands there already."""


SPACINGS = {
    # Room for an open finger around each object.
    "roomy": Spacing(0.10, 0.75, gathered=False),
    "crowded": Spacing(0.035, 0.5, gathered=True),
    # As people put things: some nearly touch, and some are hidden but for a corner.
    "packed": Spacing(0.01, 0.25, gathered=True, beside=0.5),
}


@dataclass(frozen=True)
class Spot:
    """An object's place: position of its centre on the floor plan, height of what it stands on, yaw."""

    x: float
    y: float
    support_z: float
    yaw: float
    home: str


def choose_homes(
    world: World, seed: int, rng: np.random.Generator, absent: set[str], gathered: bool = False
) -> dict[str, str]:
    """Return a home for each object of the world.

    Fixed layouts come first; the rest is drawn, or where objects are gathered the first home of the list.
    """
    fixed = world.fixed.get(seed, {})
    return {
        name: fixed.get(name, homes[0 if gathered else int(rng.integers(len(homes)))])
        for name, homes in world.homes.items()
        if name not in absent
    }


def tops_of(world: World, name: str, surface: SurfaceInfo, anywhere: bool) -> tuple[Rect, ...]:
    """Return the rectangles of a surface in which the middle of an object may be [m, map].

    These are the parts before the robot or, with `anywhere`, all of the top over which the object does not hang.
    """
    if not anywhere:
        return surface.strips
    (x0, y0, x1, y1), radius = surface.rect, world.kinds[name].radius
    across, along = min(radius, (x1 - x0) / 2), min(radius, (y1 - y0) / 2)
    return ((x0 + across, y0 + along, x1 - across, y1 - along),)


def draw_spot(world: World, name: str, home: str, rng: np.random.Generator, anywhere: bool = False) -> Spot:
    """Return a random spot for `name` in `home`, see `tops_of`, without any check."""
    if home.startswith("floor:"):
        _, rect = world.floor_zones[home.removeprefix("floor:")]
        height = 0.0
    else:
        surface = world.surface(home)
        if surface is None:
            raise KeyError(f"'{home}' of '{name}' is neither a surface of {world.name} nor a floor zone")
        rects = tops_of(world, name, surface, anywhere)
        rect = rects[int(rng.integers(len(rects)))]
        height = surface.height
    x0, y0, x1, y1 = rect
    return Spot(
        float(rng.uniform(x0, x1)), float(rng.uniform(y0, y1)), height, float(rng.uniform(-math.pi, math.pi)), home
    )


def draw_beside(
    world: World, name: str, home: str, placed: dict[str, Spot], rng: np.random.Generator, anywhere: bool = False
) -> Spot | None:
    """Return a random spot beside an object that stands in `home`; None without one, or outside of `tops_of`."""
    there = [(other, spot) for other, spot in placed.items() if spot.home == home and spot.support_z > 0]
    surface = world.surface(home)
    if surface is None or not there:
        return None
    other, spot = there[int(rng.integers(len(there)))]
    away = world.kinds[name].radius + world.kinds[other].radius + float(rng.uniform(*BESIDE_M))
    bearing = float(rng.uniform(-math.pi, math.pi))
    x, y = spot.x + away * math.cos(bearing), spot.y + away * math.sin(bearing)
    if not any(x0 <= x <= x1 and y0 <= y <= y1 for x0, y0, x1, y1 in tops_of(world, name, surface, anywhere)):
        return None
    return Spot(x, y, spot.support_z, float(rng.uniform(-math.pi, math.pi)), home)


def homes_of(world: World) -> list[str]:
    """Return all places where an object may stand: the surfaces, and the floor zones as floor:<name>."""
    return [surface.name for surface in world.surfaces] + [f"floor:{zone}" for zone in world.floor_zones]


def homes_near(world: World, home: str, rng: np.random.Generator) -> list[str]:
    """Return other places in the area of `home` and in the next one, in an order that is drawn: one of both first."""

    def entry(area: str) -> tuple[float, float]:
        found = world.area(area)
        assert found is not None
        return found.entry[:2]

    here = area_of(world, home)
    rest = sorted({area_of(world, one) for one in homes_of(world)} - {here})
    following = min(rest, key=lambda area: math.dist(entry(area), entry(here)), default=here)
    areas = [here, following] if rng.random() < 0.5 else [following, here]
    found: list[str] = []
    for area in dict.fromkeys(areas):
        there = [one for one in homes_of(world) if area_of(world, one) == area and one != home]
        found += [there[number] for number in rng.permutation(len(there))]
    return found


def draw_at_edge(world: World, name: str, home: str, rng: np.random.Generator) -> Spot | None:
    """Return a random spot at the edge of a surface where the robot stands; None for a floor zone."""
    surface = world.surface(home)
    if surface is None:
        return None
    (x0, y0, x1, y1), strip = surface.rect, surface.strips[int(rng.integers(len(surface.strips)))]
    inset = world.kinds[name].radius + float(rng.uniform(*AT_EDGE_M))
    x, y = float(rng.uniform(strip[0], strip[2])), float(rng.uniform(strip[1], strip[3]))
    sides = {"w": strip[0] - x0, "e": x1 - strip[2], "s": strip[1] - y0, "n": y1 - strip[3]}
    side = min(sides, key=lambda one: sides[one])
    x = {"w": x0 + inset, "e": x1 - inset}.get(side, x)
    y = {"s": y0 + inset, "n": y1 - inset}.get(side, y)
    return Spot(x, y, surface.height, float(rng.uniform(-math.pi, math.pi)), home)


def area_of(world: World, home: str) -> str:
    """Return the name of the area of a home."""
    if home.startswith("floor:"):
        return world.floor_zones[home.removeprefix("floor:")][0]
    surface = world.surface(home)
    assert surface is not None
    return surface.area


def apart(world: World, name: str, spot: Spot, placed: dict[str, Spot], table_gap: float) -> bool:
    """Return whether `spot` is far enough from every placed object."""
    radius = world.kinds[name].radius
    for other, there in placed.items():
        if abs(there.support_z - spot.support_z) > 0.3:
            continue
        gap = table_gap if spot.support_z > 0 else FLOOR_GAP
        if math.hypot(spot.x - there.x, spot.y - there.y) < radius + world.kinds[other].radius + gap:
            return False
    return True


def in_front(
    world: World, cover: str, spot: Spot, name: str, entry: tuple[float, float], rng: np.random.Generator
) -> Spot | None:
    """Return where `cover` hides `name` at `spot` from a robot at `entry`; None beside the top of their surface."""
    surface = world.surface(spot.home)
    away = math.dist(entry, (spot.x, spot.y))
    # The widest side of a box is across the view.
    size = world.kinds[cover].size
    half = min(size[:2]) / 2
    ahead = half + world.kinds[name].radius + float(rng.uniform(*BEHIND_M))
    if surface is None or away <= ahead:
        return None
    x, y = (a + (b - a) * ahead / away for a, b in zip((spot.x, spot.y), entry, strict=True))
    x0, y0, x1, y1 = surface.rect
    margin = half + FROM_EDGE
    if not (x0 + margin <= x <= x1 - margin and y0 + margin <= y <= y1 - margin):
        return None
    yaw = math.atan2(entry[1] - y, entry[0] - x) + (math.pi / 2 if size[0] >= size[1] else 0.0)
    return Spot(x, y, spot.support_z, yaw, spot.home)
