"""Routes of a body over the storeys and stairs of a building."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, cast

import numpy as np

from quartet_simulation.bodies.body import Body
from quartet_simulation.buildings.building import Building, Position, Stand
from quartet_simulation.buildings.file import End, Stairs
from quartet_simulation.buildings.floor import Floor, floor_of

Part = tuple[str, int]
"""A storey, and a connected part of its floor."""


class Climb(NamedTuple):
    """Stairs, with the ends where a robot enters and leaves them."""

    stairs: Stairs
    first: End
    last: End


@dataclass(frozen=True)
class Leg:
    """Part of a route: points (N, 3) in the map of a storey, z above its floor [m]; `stairs` if it is on some."""

    storey: str
    points: np.ndarray
    length: float
    stairs: Stairs | None = None

    def at(self, travelled: float) -> Stand:
        """Return the pose at a distance from its beginning [m]."""
        steps = np.linalg.norm(np.diff(self.points, axis=0), axis=1)
        along = np.concatenate([[0.0], np.cumsum(steps)])
        # Stairs may be longer than the line from their beginning to their end.
        share = along[-1] * (travelled / self.length if self.length > 0 else 1.0)
        number = int(np.clip(np.searchsorted(along, share, side="right") - 1, 0, len(steps) - 1))
        x, y, z = (float(np.interp(share, along, self.points[:, axis])) for axis in range(3))
        dx, dy, _ = self.points[number + 1] - self.points[number]
        return Stand(self.storey, x, y, math.atan2(float(dy), float(dx)), z)


@dataclass(frozen=True)
class Route:
    """A way from one pose to another, in legs."""

    start: Stand
    goal: Stand
    legs: tuple[Leg, ...]

    @cached_property
    def length(self) -> float:
        """Length [m]."""
        return sum(leg.length for leg in self.legs)

    def at(self, travelled: float) -> Stand:
        """Return the pose at a distance from the start [m]."""
        for leg in self.legs:
            if travelled < leg.length:
                return leg.at(travelled)
            travelled -= leg.length
        return self.goal

    def stop(self, travelled: float) -> Stand:
        """Return where a robot stops that has travelled so far [m]; from stairs it turns back to their beginning."""
        passed = 0.0
        for leg in self.legs:
            if leg.stairs is not None and passed <= travelled < passed + leg.length:
                return leg.at(0.0)
            passed += leg.length
        return self.at(travelled)


@dataclass(frozen=True)
class Near:
    """Pose nearest to a point, and its horizontal distance from it [m]; None and inf if no route leads there."""

    stand: Stand | None
    distance: float


class Routes:
    """Where a body gets in a building: it climbs stairs whose step and slope its file allows; rotors climb all."""

    def __init__(self, building: Building, body: Body) -> None:
        self.building, self.body = building, body
        self.stairs = tuple(one for one in building.stairs if climbs(body, one))
        """Stairs that the body can take."""
        self._near: dict[tuple[frozenset[Part], str, Position], Near] = {}

    def floor(self, storey: str) -> Floor:
        """Return the floor of a storey for this body. Raises UnknownNameError."""
        return floor_of(self.building.storey(storey), self.body)

    def nearest(self, storey: str, position: Position, from_: Stand) -> Near:
        """Return the pose nearest to a position on a storey in which the body stands free, faces it, and gets to.

        z of the position is above the floor [m]. `from_` is the pose where the body is now.
        """
        parts = self._reached(from_)
        key = (parts, storey, position)
        if key not in self._near:
            own = [part for name, part in parts if name == storey]
            stand = self.floor(storey).standing(own, position) if own else None
            distance = math.inf if stand is None else math.dist((stand.x, stand.y), position[:2])
            self._near[key] = Near(stand, distance)
        return self._near[key]

    def storeys(self, from_: Stand) -> list[str]:
        """Return the storeys that the body gets to from a pose."""
        names = {name for name, _ in self._reached(from_)}
        return [name for name in self.building.storeys if name in names]

    def connected(self, start: Stand, goal: Stand) -> bool:
        """Return whether a route leads from start to goal."""
        return self._part(goal) in self._reached(start)

    def path(self, start: Stand, goal: Stand) -> Route | None:
        """Return the shortest route, or None if there is none."""
        if not self.connected(start, goal):
            return None
        return min((self._along(start, goal, way) for way in self._ways(start, goal, ())), key=lambda one: one.length)

    def _part(self, at: Stand | End) -> Part:
        return at.storey, self.floor(at.storey).part_at(at.x, at.y)

    @cached_property
    def _climbs(self) -> tuple[tuple[Part, Part], ...]:
        """Parts of floors that the stairs connect."""
        return tuple((self._part(one.start), self._part(one.end)) for one in self.stairs)

    def _reached(self, start: Stand) -> frozenset[Part]:
        """Return the parts of floors that the body gets to from a pose."""
        first = self._part(start)
        waiting, found = [first] if first[1] else [], set[Part]()
        while waiting:
            part = waiting.pop()
            found.add(part)
            for one, other in self._climbs:
                waiting += [b for a, b in ((one, other), (other, one)) if a == part and b[1] and b not in found]
        return frozenset(found)

    def _ways(self, at: Stand | End, goal: Stand, taken: tuple[Climb, ...]) -> Iterator[tuple[Climb, ...]]:
        """Yield the stairs to take from a point to a goal, in order; none of them twice."""
        here = self._part(at)
        if here == self._part(goal):
            yield taken
            return
        for stairs in (one for one in self.stairs if one not in [climb.stairs for climb in taken]):
            for first, last in ((stairs.start, stairs.end), (stairs.end, stairs.start)):
                if self._part(first) == here:
                    yield from self._ways(last, goal, (*taken, Climb(stairs, first, last)))

    def _along(self, start: Stand, goal: Stand, way: tuple[Climb, ...]) -> Route:
        """Return the route that takes stairs in order."""
        legs, at = list[Leg](), cast("Stand | End", start)
        for climb in way:
            legs += [self._level(at, climb.first), self._climb(*climb)]
            at = climb.last
        return Route(start, goal, (*legs, self._level(at, goal)))

    def _level(self, start: Stand | End, goal: Stand | End) -> Leg:
        floor = self.floor(start.storey)
        points = floor.path((start.x, start.y), (goal.x, goal.y))
        length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
        return Leg(start.storey, np.column_stack([points, np.full(len(points), floor.height)]), length)

    def _climb(self, stairs: Stairs, first: End, last: End) -> Leg:
        rise = self.building.storey(last.storey).elevation - self.building.storey(first.storey).elevation
        height = self.floor(first.storey).height
        points = np.array([[first.x, first.y, height], [last.x, last.y, rise + height]])
        straight = float(np.linalg.norm(points[1] - points[0]))
        if self.body.file.mobility.kind == "rotors":
            return Leg(first.storey, points, straight, stairs)
        # Stairs with a turn end near where they begin, and are as long as their slope says.
        return Leg(first.storey, points, max(straight, abs(rise) / math.sin(math.radians(stairs.slope_deg))), stairs)


def climbs(body: Body, stairs: Stairs) -> bool:
    """Return whether a body can take stairs, by its mobility."""
    mobility = body.file.mobility
    return mobility.kind == "rotors" or (stairs.step_m <= mobility.step_m and stairs.slope_deg <= mobility.slope_deg)


@lru_cache(maxsize=64)
def routes_of(building: Building, body: Body) -> Routes:
    """Return the routes of a body in a building; what they cost is paid once a process."""
    return Routes(building, body)
