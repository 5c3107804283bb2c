"""What the people of an episode do: stand in a doorway and go out of the robot's way after a while, or walk about.

They walk into nobody.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from quartet_simulation.arm.body import TICK
from quartet_simulation.episode import Episode
from quartet_simulation.errors import SimulationError
from quartet_simulation.navigation.costmap import LEAF_MARK, LEAF_MARKS, PERSON, PERSON_MARK, Costmap
from quartet_simulation.navigation.planner import PathPlanner
from quartet_simulation.physics import Physics
from quartet_simulation.worlds.person import AWAY, RADIUS
from quartet_simulation.worlds.world import PersonInfo, area_at

NOTICED_M = 4.5
"""A person who stands in a door notices a robot that is so near [m]: from 4 m on it sees them and waits."""
ASIDE_M_S, ABOUT_M_S = 0.6, (0.5, 1.0)
"""How fast people go aside, and walk about: from, to [m/s]."""
PAUSE_S, GIVES_WAY_S = 4.0, 20.0
"""How long who walks about stays where they have come [s], the second where they turned round before somebody."""
KEPT_M, KEPT_FROM_HANDS_M, KEPT_FROM_PEOPLE_M = 0.85, 0.55, 0.6
"""Nobody walks on when a robot's middle, its hand, or another person is nearer ahead than this [m]."""
STOPS = 2
"""Between how many points people walk whose file names none."""
ASK_AGAIN_S = 1.0
"""Time after which a person who found no way out looks for one again [s]."""
FROM_DOOR_M, FROM_POSES_M = 1.4, 1.0
"""Who goes aside stands at least so far from the doorway, and from where robots have to stand [m]."""
MARGINS_M = 0.15, 0.0
"""How much room people leave besides where a robot marks them, where they can: its mark is off by so much with its
localisation, seen from a few metres [m]."""
STARTS_M = 2.0
"""Nobody begins to walk about nearer to a robot than this [m]."""
STILL_M = 0.1
"""Who stops twice within this distance has not come on [m]."""
GRID_M = 0.3
SPOTS = 4
"""How many places to go aside to are known for a door."""
AHEAD = 0.1
"""Cosine of the angle within which somebody is ahead."""
ROBOT_RADIUS_M = 0.64
"""Of the circle around which people plan their way past a robot [m]: there they do not have to stop before it."""
HAND_RADIUS_M = 0.35
"""The same of a robot's hand [m]."""


@dataclass
class _Person:
    info: PersonInfo
    state: Literal["away", "stands", "walks"] = "away"
    door: str = ""
    go_at: float = math.inf
    """World time when they go [s]."""
    way: np.ndarray | None = None
    stops: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """Where who walks about goes, the next one first."""
    speed: float = ASIDE_M_S
    gives_way: bool = False
    """Whether they turned round before somebody."""
    stopped_at: tuple[float, float] = AWAY
    """Where they stopped before somebody the last time."""


class People:
    """The people of one world. They know where everybody is: nothing of a robot's own is in here."""

    def __init__(self, physics: Physics, robot_half_width: float) -> None:
        """`robot_half_width` is that of the widest robot, which people let pass [m]."""
        self._physics = physics
        self._floor = Costmap(physics.world, physics.model, physics.data, RADIUS)
        self._planner = PathPlanner(self._floor)
        self._driven = Costmap(physics.world, physics.model, physics.data, robot_half_width)
        self._spots: dict[str, list[tuple[float, float]]] = {}
        self._closed: dict[str, tuple[float, float, float]] = {}
        self._people = [_Person(info) for info in physics.world.people]

    def begin(self, episode: Episode, seed: int, robots: Sequence[Physics]) -> None:
        """Let people stand in doors or walk about at the start of an episode; all others are away.

        Where somebody walks whose file does not say so, and how fast, is drawn by the seed, away from the robots.
        """
        rng = np.random.default_rng([seed & 0x7FFFFFFF, 6])
        self._closed = {
            f"{door} {number}": (float(x), float(y), LEAF_MARK)
            for door in episode.closed
            for number, (x, y) in enumerate(np.linspace(*self._physics.leaf_ends(door), LEAF_MARKS))
        }
        for person in self._people:
            name, info = person.info.name, person.info
            person.stopped_at, person.gives_way = AWAY, False
            person.door, person.go_at, person.way, person.stops = episode.doorways.get(name, ""), math.inf, None, []
            person.speed, at = info.speed or ASIDE_M_S, self._physics.world.doors.get(person.door, AWAY)
            if name in episode.walkers and not person.door:
                person.stops = list(info.walks) or self._draw_stops(rng, robots)
                self._check_stops(person)
                person.speed = info.speed or float(rng.uniform(*ABOUT_M_S))
                person.go_at = float(rng.uniform(0.0, PAUSE_S))
                at = person.stops[0]
                _turn_to_next(person)
            person.state = "stands" if person.door or person.stops else "away"
            self._physics.set_person(name, *at)

    def tick(self, robots: Sequence[Physics]) -> None:
        """Advance everybody by one tick."""
        for person in self._people:
            if person.state == "stands":
                self._stand(person, robots)
            elif person.state == "walks":
                self._walk(person, robots)

    def _stand(self, person: _Person, robots: Sequence[Physics]) -> None:
        here, now = self._physics.person_at(person.info.name), self._physics.time
        if person.go_at == math.inf and min(_distances(here, robots)) < NOTICED_M:
            person.go_at = now + person.info.leaves_after
        if now >= person.go_at and (person.door or person.stops):
            targets = person.stops[:1] if person.stops else self._aside(person)
            person.way = self._way_to(targets, person, here, robots)
            person.go_at = now + ASK_AGAIN_S
            if person.way is not None:
                person.state = "walks"
            elif person.stops:
                _turn_to_next(person)

    def _walk(self, person: _Person, robots: Sequence[Physics]) -> None:
        assert person.way is not None
        name = person.info.name
        x, y = self._physics.person_at(name)
        step = person.speed * TICK
        while len(person.way) > 1 and math.dist(person.way[0], (x, y)) < step:
            person.way = person.way[1:]
        dx, dy = person.way[0, 0] - x, person.way[0, 1] - y
        left = math.hypot(dx, dy)
        if left < step:
            self._physics.set_person(name, *person.way[0])
            self._arrive(person)
            return
        ux, uy = dx / left, dy / left
        met = [(*robot.base_pose()[:2], KEPT_M) for robot in robots]
        met += [(*robot.tool_pose()[:2, 3], KEPT_FROM_HANDS_M) for robot in robots]
        met += [(*self._physics.person_at(other.info.name), KEPT_FROM_PEOPLE_M) for other in self._people]
        for rx, ry, kept in met:
            away = math.dist((rx, ry), (x, y))
            if away < kept and (rx - x) * ux + (ry - y) * uy > AHEAD * away:
                self._physics.set_person(name, x, y)
                # Who waits for a robot that waits for them looks for another way, as at the start.
                person.state, person.go_at = "stands", self._physics.time + ASK_AGAIN_S
                if person.stops and math.dist(person.stopped_at, (x, y)) < STILL_M:
                    # Who waited here before, for one that may wait for them, turns round.
                    _turn_to_next(person)
                    person.gives_way = True
                person.stopped_at = x, y
                return
        velocity = person.speed * ux, person.speed * uy
        self._physics.set_person(name, x, y, velocity)

    def _arrive(self, person: _Person) -> None:
        person.state, person.door = "stands", ""
        if person.stops:
            _turn_to_next(person)
            person.go_at = self._physics.time + (GIVES_WAY_S if person.gives_way else PAUSE_S)
            person.gives_way = False

    def _way_to(
        self,
        targets: Sequence[tuple[float, float]],
        person: _Person,
        here: tuple[float, float],
        robots: Sequence[Physics],
    ) -> np.ndarray | None:
        """Return a way past robots and other people to the first target that is reached, None while there is none."""
        physics = self._physics
        marks = {robot.prefix or "robot": (*robot.base_pose()[:2], ROBOT_RADIUS_M) for robot in robots}
        others = (other.info.name for other in self._people if other is not person)
        marks |= {f"{robot.prefix}hand": (*robot.tool_pose()[:2, 3], HAND_RADIUS_M) for robot in robots}
        marks |= self._closed
        marks |= {f"{PERSON}{name}": (*physics.person_at(name), RADIUS) for name in others}
        for name in physics.objects:
            (x, y, z), _ = physics.object_pose(name)
            if z < 0.25:
                marks[name] = (float(x), float(y), physics.world.kinds[name].radius)
        self._floor.clear()
        self._floor.mark(marks)
        ways = (self._planner.plan(here, spot, start_reach=0.3) for spot in targets)
        return next((way for way in ways if way is not None), None)

    def _check_stops(self, person: _Person) -> None:
        """Raise SimulationError where somebody cannot stand at a point that they walk to."""
        self._floor.clear()
        for x, y in person.stops:
            if not self._planner.is_free(x, y):
                name, world = person.info.name, self._physics.world.name
                raise SimulationError(f"'{name}' cannot walk to ({x:.2f}, {y:.2f}) in {world}: something stands there")

    def _draw_stops(self, rng: np.random.Generator, robots: Sequence[Physics]) -> list[tuple[float, float]]:
        """Return STOPS points in different areas, where somebody who stays there is in nobody's way."""
        world, stops = self._physics.world, list[tuple[float, float]]()
        free = [spot for spot in self._out_of_the_way() if min(_distances(spot, robots), default=math.inf) > STARTS_M]
        for number in rng.permutation(len(world.areas)):
            area = world.areas[number]
            spots = [spot for spot in free if area_at(world, *spot) == area.name]
            self._floor.clear()
            reached = (
                spots[one] for one in rng.permutation(len(spots)) if self._planner.reaches(area.entry[:2], spots[one])
            )
            stops += self._passable(reached, count=1)
            if len(stops) == STOPS:
                return stops
        raise SimulationError(f"nobody can walk about in {world.name}: {STOPS} of its rooms must have free floor")

    def _aside(self, person: _Person) -> list[tuple[float, float]]:
        """Return where a person of a doorway stands aside, the nearest first: robots still get everywhere then.

        Where there are such places, past all who stand about now, and to the things of the episode.
        """
        door, physics = person.door, self._physics
        if door not in self._spots:
            at = physics.world.doors[door]
            free = [spot for spot in self._out_of_the_way() if math.dist(spot, at) > FROM_DOOR_M]
            free.sort(key=lambda spot: math.dist(spot, at))
            self._spots[door] = self._passable(free)
        others = [physics.person_at(one.info.name) for one in self._people if one is not person and one.state != "away"]
        things = [physics.object_pose(name)[0][:2] for name in physics.objects]
        clear = [spot for spot in self._spots[door] if all(math.dist(spot, one) > FROM_POSES_M for one in things)]
        for margin in MARGINS_M:
            if passed := [spot for spot in clear if self._lets_pass([spot, *others], margin)]:
                return passed
        return self._spots[door]

    def _out_of_the_way(self) -> list[tuple[float, float]]:
        """Return free floor apart from doorways and from where robots have to stand, as points of a grid."""
        world = self._physics.world
        poses = [area.entry[:2] for area in world.areas]
        poses += [place.approach[:2] for place in (*world.surfaces, *world.containers) if place.approach]
        kept = [*poses, *world.doors.values()]
        x0, y0, x1, y1 = world.bounds
        grid = [(float(x), float(y)) for x in np.arange(x0, x1, GRID_M) for y in np.arange(y0, y1, GRID_M)]
        self._floor.clear()
        return [
            spot
            for spot in grid
            if self._planner.is_free(*spot) and min(math.dist(spot, one) for one in kept) > FROM_POSES_M
        ]

    def _passable(self, spots: Iterable[tuple[float, float]], count: int = SPOTS) -> list[tuple[float, float]]:
        """Return the first of the spots, `count` at most and apart, past which robots get from each area to each.

        Those come first that leave a margin.
        """
        spots, found = list(spots), list[tuple[float, float]]()
        for margin in MARGINS_M:
            for spot in spots:
                if len(found) == count:
                    return found
                if min((math.dist(spot, one) for one in found), default=math.inf) >= FROM_DOOR_M and self._lets_pass(
                    [spot], margin
                ):
                    found.append(spot)
        return found

    def _lets_pass(self, spots: Sequence[tuple[float, float]], margin: float) -> bool:
        """Return whether robots get from each area to each, that far past people at all of the spots [m]."""
        entries = [area.entry[:2] for area in self._physics.world.areas]
        planner = PathPlanner(self._driven)
        self._driven.clear()
        self._driven.mark({f"{PERSON}{number}": (*spot, PERSON_MARK + margin) for number, spot in enumerate(spots)})
        return all(planner.reaches(entries[0], entry) for entry in entries[1:])


def _turn_to_next(person: _Person) -> None:
    person.stops.append(person.stops.pop(0))


def _distances(point: tuple[float, float], robots: Sequence[Physics]) -> list[float]:
    return [math.dist(point, robot.base_pose()[:2]) for robot in robots]
