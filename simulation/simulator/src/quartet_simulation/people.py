"""What the people of an episode do: stand in a doorway, go out of the robot's way after a while, walk into nobody."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from quartet_simulation.arm.body import TICK
from quartet_simulation.navigation.costmap import PERSON_MARK, Costmap
from quartet_simulation.navigation.planner import PathPlanner
from quartet_simulation.physics import Physics
from quartet_simulation.worlds.person import AWAY, RADIUS
from quartet_simulation.worlds.world import PersonInfo

NOTICED_M = 4.5
"""A person who stands in a door notices a robot that is so near [m]: from 4 m on it sees them and waits."""
WALK_M_S = 0.6
KEPT_M = 0.85
"""Nobody walks on when a robot's middle is nearer ahead than this [m]."""
ASK_AGAIN_S = 1.0
"""Time after which a person who found no way out looks for one again [s]."""
FROM_DOOR_M, FROM_POSES_M = 1.4, 1.0
"""Who goes aside stands at least so far from the doorway, and from where robots have to stand [m]."""
GRID_M = 0.3
SPOTS = 4
"""How many places to go aside to are known for a door."""
ROBOT_RADIUS_M = 0.45


@dataclass
class _Person:
    info: PersonInfo
    state: Literal["away", "stands", "walks"] = "away"
    door: str = ""
    go_at: float = math.inf
    """World time when they go [s]."""
    way: np.ndarray | None = None


class People:
    """The people of one world. They know where everybody is: nothing of a robot's own is in here."""

    def __init__(self, physics: Physics, robot_half_width: float) -> None:
        self._physics = physics
        self._floor = Costmap(physics.world, physics.model, physics.data, RADIUS)
        self._planner = PathPlanner(self._floor)
        self._driven = Costmap(physics.world, physics.model, physics.data, robot_half_width)
        self._spots: dict[str, list[tuple[float, float]]] = {}
        self._people = [_Person(info) for info in physics.world.people]

    def begin(self, doors: dict[str, str]) -> None:
        """Let people stand in doors (name: door) at the start of an episode; all others are away."""
        for person in self._people:
            person.door, person.go_at, person.way = doors.get(person.info.name, ""), math.inf, None
            person.state = "stands" if person.door else "away"
            at = self._physics.world.doors[person.door] if person.door else AWAY
            self._physics.set_person(person.info.name, *at)

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
        if now >= person.go_at and person.door:
            person.way = self._way_out(person, here, robots)
            person.go_at = now + ASK_AGAIN_S
            if person.way is not None:
                person.state = "walks"

    def _walk(self, person: _Person, robots: Sequence[Physics]) -> None:
        assert person.way is not None
        name = person.info.name
        x, y = self._physics.person_at(name)
        dx, dy = person.way[0, 0] - x, person.way[0, 1] - y
        left = math.hypot(dx, dy)
        if left < WALK_M_S * TICK:
            self._physics.set_person(name, *person.way[0])
            person.way = person.way[1:]
            if not len(person.way):
                person.state, person.door = "stands", ""
            return
        ux, uy = dx / left, dy / left
        for robot in robots:
            rx, ry, _ = robot.base_pose()
            if math.dist((rx, ry), (x, y)) < KEPT_M and (rx - x) * ux + (ry - y) * uy > 0:
                self._physics.set_person(name, x, y)
                # Who waits for a robot that waits for them looks for another way, as at the start.
                person.state, person.go_at = "stands", self._physics.time + ASK_AGAIN_S
                return
        velocity = WALK_M_S * ux, WALK_M_S * uy
        self._physics.set_person(name, x + velocity[0] * TICK, y + velocity[1] * TICK, velocity)

    def _way_out(self, person: _Person, here: tuple[float, float], robots: Sequence[Physics]) -> np.ndarray | None:
        """Return a way past the robots to one of the places to go aside to, None while there is none."""
        physics = self._physics
        marks = {robot.prefix or "robot": (*robot.base_pose()[:2], ROBOT_RADIUS_M) for robot in robots}
        for name in physics.objects:
            (x, y, z), _ = physics.object_pose(name)
            if z < 0.25:
                marks[name] = (float(x), float(y), physics.world.kinds[name].radius)
        self._floor.clear()
        self._floor.mark(marks)
        ways = (self._planner.plan(here, spot, start_reach=0.3) for spot in self._aside(person.door))
        return next((way for way in ways if way is not None), None)

    def _aside(self, door: str) -> list[tuple[float, float]]:
        """Return where a person of a doorway stands aside, the nearest first: robots still get everywhere then."""
        if door not in self._spots:
            world, at = self._physics.world, self._physics.world.doors[door]
            poses = [area.entry for area in world.areas]
            poses += [place.approach for place in (*world.surfaces, *world.containers) if place.approach]
            x0, y0, x1, y1 = world.bounds
            grid = [(float(x), float(y)) for x in np.arange(x0, x1, GRID_M) for y in np.arange(y0, y1, GRID_M)]
            self._floor.clear()
            free = [
                spot
                for spot in grid
                if self._planner.is_free(*spot)
                and math.dist(spot, at) > FROM_DOOR_M
                and min(math.dist(spot, pose[:2]) for pose in poses) > FROM_POSES_M
                and min(math.dist(spot, other) for other in world.doors.values()) > FROM_POSES_M
            ]
            free.sort(key=lambda spot: math.dist(spot, at))
            self._spots[door] = self._passable(free)
        return self._spots[door]

    def _passable(self, spots: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
        entries = [area.entry[:2] for area in self._physics.world.areas]
        planner, found = PathPlanner(self._driven), list[tuple[float, float]]()
        for spot in spots:
            if len(found) == SPOTS or any(math.dist(spot, other) < FROM_DOOR_M for other in found):
                continue
            self._driven.mark({"person": (*spot, PERSON_MARK)})
            if all(planner.plan(entries[0], entry) is not None for entry in entries[1:]):
                found.append(spot)
        return found


def _distances(point: tuple[float, float], robots: Sequence[Physics]) -> list[float]:
    return [math.dist(point, robot.base_pose()[:2]) for robot in robots]
