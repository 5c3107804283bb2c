"""Finds where the things of an episode stand: apart from each other, seen and reached, or as a scenario asks for."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from quartet_simulation.arm.collision import CollisionWorld
from quartet_simulation.errors import SimulationError
from quartet_simulation.parcels import covering
from quartet_simulation.physics import Physics
from quartet_simulation.reachability import drive_in_is_free, open_between, top_at, visible_share
from quartet_simulation.scenario import Scenario
from quartet_simulation.worlds import placement
from quartet_simulation.worlds.compile import PARKING

BOARD_M, ABOVE_M = 0.06, 0.08
"""Thickness of a top at most, and what is free at least between it and a thing that stands under it [m]."""


class Placing:
    """Stands the things of one episode of a world somewhere."""

    def __init__(self, physics: Physics, checks: CollisionWorld, wanted: Scenario) -> None:
        """`physics` and `checks` of the first robot."""
        self._physics, self._checks = physics, checks
        self._spacing, self._anywhere = placement.SPACINGS[wanted.spacing], wanted.anywhere
        self._unseen = {*wanted.behind, *wanted.under, *wanted.out_of_reach}
        self._kept_free = wanted.kept_free
        self.spots: dict[str, placement.Spot] = {}
        """Where things stand, of those that are placed."""

    def place(self, wanted: Scenario, seed: int, rng: np.random.Generator) -> None:
        """Place all things of an episode. Raises SimulationError where there is no room."""
        world, spots = self._physics.world, self.spots
        drawn = placement.choose_homes(world, seed, rng, wanted.absent, self._spacing.gathered) | wanted.at
        # What could only stand on a surface that is kept free is not in the episode.
        free = {name: self._homes_of(name, home) for name, home in drawn.items()}
        homes = {name: places[0] for name, places in free.items() if places}
        for name in wanted.out_of_reach:
            spots[name] = self._far_spot()
            self.stand(name, spots[name])
        # Objects that others hide, or that stand at a certain place, come first, while their surfaces are empty, then
        # those on the floor: the ways to all others must lead around them.
        for name, cover in wanted.behind.items():
            self._hide(name, cover, rng)
        for name in wanted.edge:
            self._stand_at_edge(name, rng)
        for name, surface in wanted.under.items():
            self._stand_under(name, surface, rng)
        for name, home in sorted(homes.items(), key=lambda item: not item[1].startswith("floor:")):
            if name not in spots:
                spots[name] = self._find_spot(name, home, rng)
                self.stand(name, spots[name])

    def stand(self, name: str, spot: placement.Spot) -> None:
        """Stand a thing on a spot."""
        self._physics.stand(name, spot.x, spot.y, spot.support_z, spot.yaw)

    def _find_spot(self, name: str, home: str, rng: np.random.Generator) -> placement.Spot:
        """Return a spot in `home`, or in another home of the object when that is full.

        It is apart from what stands there, and suits the object (`_suits`).
        """
        world = self._physics.world
        beside = self._spacing.beside > 0 and rng.random() < self._spacing.beside
        for where in self._homes_of(name, home):
            for attempt in range(placement.ATTEMPTS):
                # Where there is no room beside the others, it stands by itself.
                if beside and attempt < placement.ATTEMPTS / 2:
                    spot = placement.draw_beside(world, name, where, self.spots, rng, self._anywhere)
                else:
                    spot = placement.draw_spot(world, name, where, rng, self._anywhere)
                if (
                    spot is not None
                    and placement.apart(world, name, spot, self.spots, self._spacing.gap)
                    and self._suits(name, spot)
                ):
                    return spot
        raise SimulationError(f"no room for '{name}' in {world.name}: {home} and its other homes are full")

    def _homes_of(self, name: str, first: str | None = None) -> list[str]:
        """Return where an object may stand in this episode, `first` before its other homes."""
        homes = [home for home in self._physics.world.homes[name] if home != first]
        if first is not None:
            homes.insert(0, first)
        return [home for home in homes if home not in self._kept_free]

    def _suits(self, name: str, spot: placement.Spot) -> bool:
        """Return whether a spot suits an object, and stand the object there.

        The object is seen from the entry of its area, and a straight drive leads to it. With `anywhere`, all of it
        stands on the top, and nothing else matters.
        """
        physics = self._physics
        if self._anywhere:
            self.stand(name, spot)
            mujoco.mj_kinematics(physics.model, physics.data)
            return self._is_supported(name, spot)
        area = physics.world.area(placement.area_of(physics.world, spot.home))
        assert area is not None
        self.stand(name, spot)
        self._checks.attach(None)
        self._checks.load(physics.data.qpos)
        if not drive_in_is_free(self._checks, area.entry, (spot.x, spot.y), physics.build.pick_standoff):
            return False
        mujoco.mj_kinematics(physics.model, physics.data)
        # Neither the new object nor those that stand there already may be hidden, but for those that are meant to be.
        there = [name, *(other for other, place in self.spots.items() if place.home == spot.home)]
        least = self._spacing.visible_share
        return all(visible_share(physics, area.entry, n) >= least for n in there if n not in self._unseen)

    def _hide(self, name: str, cover: str, rng: np.random.Generator) -> None:
        """Place two objects, of which `cover` hides the other from the entry of their area."""
        world, physics = self._physics.world, self._physics
        for where in self._homes_of(name):
            area = world.area(placement.area_of(world, where))
            assert area is not None
            for _ in range(placement.ATTEMPTS):
                spot = placement.draw_spot(world, name, where, rng, self._anywhere)
                before = placement.in_front(world, cover, spot, name, area.entry[:2], rng)
                if before is None or not all(
                    placement.apart(world, one, place, self.spots, self._spacing.gap)
                    for one, place in ((name, spot), (cover, before))
                ):
                    continue
                self.stand(cover, before)
                if self._suits(name, spot) and visible_share(physics, area.entry, name) <= placement.HIDDEN_SHARE:
                    self.spots[name], self.spots[cover] = spot, before
                    return
                self.stand(cover, placement.Spot(*PARKING, 0.0, 0.0, where))
        raise SimulationError(f"no room for '{name}' behind '{cover}' in {world.name}: no surface is deep enough")

    def _stand_at_edge(self, name: str, rng: np.random.Generator) -> None:
        """Place an object at the edge of a surface, where all of it is supported."""
        world = self._physics.world
        for where in self._homes_of(name):
            for _ in range(placement.ATTEMPTS):
                spot = placement.draw_at_edge(world, name, where, rng)
                if (
                    spot is not None
                    and placement.apart(world, name, spot, self.spots, self._spacing.gap)
                    and self._is_supported(name, spot)
                    and self._suits(name, spot)
                ):
                    self.spots[name] = spot
                    return
        raise SimulationError(f"no room for '{name}' at an edge in {world.name}")

    def _is_supported(self, name: str, spot: placement.Spot) -> bool:
        """Return whether a flat top is under all of an object, and no furniture in it; round tables have no corners."""
        kind, tops = self._physics.world.kinds[name], list[float | None]()
        for turn in range(8):
            for away in (kind.radius, kind.radius / 2):
                x, y = spot.x + away * math.cos(turn * math.pi / 4), spot.y + away * math.sin(turn * math.pi / 4)
                # From no higher than the object, since a shelf has boards above.
                tops.append(top_at(self._physics, x, y, spot.support_z + kind.size[2]))
        return all(top is not None and abs(top - spot.support_z) < 0.01 for top in tops)

    def _stand_under(self, name: str, surface_name: str, rng: np.random.Generator) -> None:
        """Place an object under a top, on the next board or the floor, open to where the robot stands."""
        world, physics = self._physics.world, self._physics
        surface = world.surface(surface_name)
        assert surface is not None
        for _ in range(placement.ATTEMPTS):
            above = placement.draw_spot(world, name, surface_name, rng, self._anywhere)
            below = top_at(physics, above.x, above.y, surface.height - BOARD_M)
            if below is None or surface.height - BOARD_M - below < world.kinds[name].size[2] + ABOVE_M:
                continue
            spot = placement.Spot(above.x, above.y, below, above.yaw, surface_name)
            middle = below + physics.rest_height(name)
            # What is under a closed cabinet is in it.
            if (
                surface.approach is not None
                and placement.apart(world, name, spot, self.spots, self._spacing.gap)
                and open_between(physics, surface.approach[:2], (spot.x, spot.y), middle)
            ):
                self.spots[name] = spot
                self.stand(name, spot)
                return
        raise SimulationError(f"no room for '{name}' under '{surface_name}' in {world.name}")

    def _far_spot(self) -> placement.Spot:
        """Return the back of the deepest surface, far from where the robot usually stands."""
        world = self._physics.world
        name, (x, y) = world.far_spot
        surface = world.surface(name)
        assert surface is not None
        return placement.Spot(x, y, surface.height, 0.0, name)

    def cover(self, name: str, available: int, *, room_for_one: bool = False) -> list[placement.Spot]:
        """Return where parcels stand that fill a surface, see parcels.covering. Raises SimulationError."""
        surface = self._physics.world.surface(name)
        assert surface is not None
        self._physics.forward()
        return covering(self._physics, surface, available, room_for_one=room_for_one)

    def find_elsewhere(self, name: str, home: str, rng: np.random.Generator) -> placement.Spot:
        """Return a spot where somebody puts an object: at `home`, or else near by, in its room or the next one."""
        here, world = self.spots[name], self._physics.world
        others = {other: spot for other, spot in self.spots.items() if other != name}
        try:
            near = [one for one in placement.homes_near(world, here.home, rng) if one not in self._kept_free]
            for where in [home] if home else near:
                for _ in range(placement.ATTEMPTS):
                    spot = placement.draw_spot(world, name, where, rng, self._anywhere)
                    apart = placement.apart(world, name, spot, others, self._spacing.gap)
                    if apart and self._suits(name, spot):
                        return spot
        finally:
            self.stand(name, here)
        raise SimulationError(f"no room to put '{name}' elsewhere: {home or 'all places near ' + here.home} full")
