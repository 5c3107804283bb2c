"""Drafts of instances: robots with their starts, spots on surfaces, and names; decided by resumes and distances."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from quartet_research.emos.goals import Goal
from quartet_research.emos.house import body_of, resume_of_body
from quartet_research.emos.margins import LEAST_M, in_view, reach_margin
from quartet_simulation.buildings import LIMITS, STEP_S, Building, Routes, Stand, Storey, Thing, routes_of
from quartet_simulation.buildings.cameras import in_view as in_picture
from quartet_simulation.worlds.world import area_at
from quartet_site import Resume

SIZE = (0.06, 0.06, 0.12)
"""Extent of an object [m]."""
GRID_M, EDGE_M = 0.1, 0.08
"""Distance of spots on a surface, and of a spot from its edge [m]."""
APART_M = 0.6
"""Least distance between two spots of an instance [m]."""
MOST_STARTS = 50
COLOURS = ("red", "blue", "green", "yellow", "orange", "purple", "pink", "white", "black", "brown")
OBJECTS, PLACES = ("box", "carton", "tin", "jar"), ("tray", "mat", "coaster", "napkin")
Margin = Callable[["Member"], float]


class RedrawError(Exception):
    """A draft of an instance is not kept; the text is the reason."""


@dataclass(frozen=True)
class Member:
    """Robot of a draft."""

    body: str
    resume: Resume
    routes: Routes
    start: Stand

    def distance(self, spot: Thing) -> float:
        """Return the horizontal distance of a spot from the nearest pose of the base [m]; inf without a route."""
        return self.routes.nearest(spot.storey, spot.position, self.start).distance

    def reach(self, spot: Thing) -> float:
        """Return how far a spot is inside the reach of the arm [m]."""
        return reach_margin(self.resume.reach, self.distance(spot), spot.position[2])

    def near(self, spot: Thing, within: float) -> float:
        """Return how far a spot is inside a straight distance from the nearest base frame [m].

        From another storey, at least the difference in height is missing.
        """
        floors, flying = self.routes.building.storeys, self.resume.body.mobility.flying_height_m
        bases = {name: floors[name].elevation + flying for name in self.routes.storeys(self.start)}
        target = floors[spot.storey].elevation + spot.position[2]
        across = {name: self.distance(spot) if name == spot.storey else 0.0 for name in bases}
        return within - min(math.hypot(across[name], target - base) for name, base in bases.items())

    def steps(self, at: Stand, spots: Iterable[Thing]) -> tuple[int, Stand]:
        """Return the steps in which it drives from a pose past spots, and where it is then. Raises RedrawError."""
        travelled = 0.0
        for spot in spots:
            goal = self.routes.nearest(spot.storey, spot.position, self.start).stand
            route = None if goal is None else self.routes.path(at, goal)
            if goal is None or route is None:
                raise RedrawError("no route")
            travelled, at = travelled + route.length, goal
        return math.ceil(travelled / (self.resume.body.mobility.speed_m_s * STEP_S)), at

    def sees(self, spot: Thing) -> bool:
        """Return whether a camera sees a spot from the nearest pose, by the resume and in fact."""
        near = self.routes.nearest(spot.storey, spot.position, self.start)
        by_resume = in_view(self.resume, near.distance, spot.position[2])
        return by_resume and near.stand is not None and in_picture(self.routes.body, near.stand, spot.position)


def only(right: Member, members: Iterable[Member], margin: Margin) -> bool:
    """Return whether one robot is inside its limit, and all others are outside of theirs, each by LEAST_M."""
    return all(margin(one) <= -LEAST_M for one in members if one is not right) and margin(right) >= LEAST_M


@dataclass(frozen=True)
class Part:
    """Subtask of a draft: things, goals, and the robot that can do it, by its position in the family."""

    things: dict[str, Thing]
    goals: Sequence[Goal]
    right: int


@dataclass
class Drafting:
    """Draws the parts of one draft."""

    rng: np.random.Generator
    building: Building
    storey: str
    """Where the robots start."""
    bodies: Sequence[str]
    objects: int
    """How many objects, where the family leaves it open."""
    members: list[Member] = field(init=False)
    used: list[Thing] = field(default_factory=list[Thing])
    _names: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        every = [(name, routes_of(self.building, body_of(name))) for name in self.bodies]
        self.members = [Member(name, resume_of_body(name), routes, self._start(routes)) for name, routes in every]

    def spot(self, role: str, fits: Callable[[Thing], bool], *, elsewhere: bool = False) -> Thing:
        """Return a random spot that fits, apart from those drawn before.

        Args:
            role: names the spot in the reason of a redraw.
            fits: whether it takes a spot.
            elsewhere: on another storey than that of the start.

        Raises:
            RedrawError: there is none.
        """
        storeys = [one for name, one in self.building.storeys.items() if (name != self.storey) == elsewhere]
        spots = [spot for storey in storeys for spot in spots_of(storey)]
        for at in self.rng.permutation(len(spots)):
            if all(self.apart(spots[at], other) >= APART_M for other in self.used) and fits(spots[at]):
                self.used.append(spots[at])
                return spots[at]
        raise RedrawError(f"no spot for {role}")

    def apart(self, one: Thing, other: Thing) -> float:
        """Return the straight distance between two spots [m]."""
        (x, y, z), place = one.position, other.position
        return self.building.distance(Stand(one.storey, x, y, height=z), other.storey, place)

    def away(self, spot: Thing, least: float) -> bool:
        """Return whether all starts are at least so far from a spot [m]."""
        return all(self.building.distance(one.start, spot.storey, spot.position) >= least for one in self.members)

    def named(self, spot: Thing, *, place: bool = False) -> tuple[str, Thing]:
        """Return an object or a place at a spot, with a neutral name."""
        names = (f"{colour} {kind}" for colour in COLOURS for kind in (PLACES if place else OBJECTS))
        name = str(self.rng.choice([one for one in names if one not in self._names]))
        self._names.add(name)
        return name, replace(spot, kind="spot" if place else "object")

    def gain(self, parts: Sequence[Part]) -> float:
        """Return by which factor deliveries take longer if each robot tries all of them, by routes and speeds alone."""
        shared, tried = list[int](), list[int]()
        for number, member in enumerate(self.members):
            at, passed = member.start, 0
            for part in parts:
                ends = list(part.things.values())
                if part.right == number:
                    shared.append(member.steps(member.start, ends)[0])
                    tried.append(passed + member.steps(at, ends)[0])
                    break
                steps, at = member.steps(at, ends[:1])
                passed += steps + LIMITS["pick"]
        return max(tried) / max(shared)

    def _start(self, routes: Routes) -> Stand:
        """Return a random pose from which most rooms of the storey are reached. Raises RedrawError."""
        world, floor = self.building.storey(self.storey).world, routes.floor(self.storey)
        entries = [Stand(self.storey, *area.entry) for area in world.areas]
        x0, y0, x1, y1 = world.bounds
        for x, y in self.rng.uniform((x0, y0), (x1, y1), (MOST_STARTS, 2)).tolist():
            if area_at(world, x, y) is None or not (part := floor.part_at(x, y)):
                continue
            stand = floor.standing([part], (x, y, floor.height))
            if stand is not None and 2 * sum(routes.connected(stand, entry) for entry in entries) > len(entries):
                return stand
        raise RedrawError("no start")


@lru_cache(maxsize=64)
def spots_of(storey: Storey) -> tuple[Thing, ...]:
    """Return the spots for the centre of an object on all surfaces of a storey."""
    found: list[Thing] = []
    for surface in storey.world.surfaces:
        x0, y0, x1, y1 = surface.rect
        xs, ys = _along(x0, x1), _along(y0, y1)
        z = round(surface.height + SIZE[2] / 2, 3)
        found += [Thing(storey.name, (x, y, z), size=SIZE) for x in xs for y in ys]
    return tuple(found)


def _along(low: float, high: float) -> list[float]:
    """Return coordinates between the edges of a surface."""
    if (inside := high - low - 2 * EDGE_M) < GRID_M:
        return [round((low + high) / 2, 3)]
    return np.linspace(low + EDGE_M, high - EDGE_M, 1 + int(inside / GRID_M)).round(3).tolist()
