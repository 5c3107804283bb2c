"""What people do with things while an episode runs: take one away, put it elsewhere, or fill a place with parcels.

It happens when the robot is at a certain point of its work, so that it has seen the world as it was before. Who does it
is not to be seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from quartet_simulation.physics import Physics
from quartet_simulation.worlds.compile import parking_of
from quartet_simulation.worlds.placement import Spot

Moment = Literal["base near", "hand near", "under way"]
"""When a change happens: as a robot drives up to the thing, as its hand comes to grasp it, or as it carries one."""
FETCHING: tuple[Moment, ...] = ("base near", "hand near")
"""Moments of a robot that is about to fetch a thing."""
NEAR_M = 1.3
"""How near the middle of a robot comes to a thing before somebody takes it [m]: nearer than it first looks from."""
HAND_NEAR_M = 0.28
"""The same of the tool frame, whose fingertips are above the thing then [m]."""
CLEAR_M = 0.6
"""Nobody puts a thing where the hand of a robot is as near as this [m]."""
AWAY_M = 1.8
"""Nobody fills a place that a robot has come so near to [m]."""
LOOK_EVERY = 5
"""Ticks between two looks at the robots."""


@dataclass(frozen=True)
class Change:
    """Something that somebody does with things: where each stands afterwards, None away from the world."""

    event: Literal["taken", "moved", "filled"]
    things: dict[str, Spot | None]
    moment: Moment

    @property
    def spots(self) -> list[Spot]:
        """Where things are put."""
        return [spot for spot in self.things.values() if spot is not None]


class Events:
    """The changes of one episode of a world."""

    def __init__(self, physics: Physics, describe: Callable[[str], dict[str, Any]]) -> None:
        """`describe` returns what ground truth says of an object that lies somewhere."""
        self._physics = physics
        self._describe = describe
        self._to_happen: list[Change] = []
        self._present: set[str] = set()
        self.happened: list[dict[str, Any]] = []
        """What has happened: event, time [s], object, and what ground truth says of it right after; None: gone."""

    def begin(self, changes: Sequence[Change], present: set[str]) -> None:
        """Begin an episode with the objects that are `present`, a set that is kept up to date."""
        self._to_happen, self._present, self.happened = list(changes), present, []

    @property
    def to_happen(self) -> list[dict[str, Any]]:
        """What is still to happen: event, object, and where that will stand; None: nowhere."""
        return [
            {"event": one.event, "object": name, "home": None if spot is None else spot.home}
            for one in self._to_happen
            for name, spot in one.things.items()
        ]

    def tick(self, robots: Sequence[Physics]) -> None:
        """Let happen what is due."""
        if not self._to_happen or self._physics.ticks % LOOK_EVERY:
            return
        for change in [one for one in self._to_happen if self._is_due(one, robots)]:
            self._to_happen.remove(change)
            self._do(change)

    def _is_due(self, change: Change, robots: Sequence[Physics]) -> bool:
        if change.moment == "under way":
            away = all(math.dist(one.base_pose()[:2], (at.x, at.y)) > AWAY_M for at in change.spots for one in robots)
            return away and any(robot.held_object() is not None for robot in robots)
        touched = {name for robot in robots for names in robot.touched_by_pads().values() for name in names}
        if touched & set(change.things) or not any(self._has_come(robot, change) for robot in robots):
            return False
        hands = [_tool(robot)[:2] for robot in robots]
        return all(math.dist(hand, (at.x, at.y)) > CLEAR_M for at in change.spots for hand in hands)

    def _has_come(self, robot: Physics, change: Change) -> bool:
        """Return whether a robot is as near to one of the things as the change waits for."""
        places = [self._physics.object_pose(name)[0] for name in change.things]
        if change.moment == "base near":
            return any(math.dist(robot.base_pose()[:2], at[:2]) < NEAR_M for at in places)
        return any(math.dist(_tool(robot), at) < HAND_NEAR_M for at in places)

    def _do(self, change: Change) -> None:
        physics = self._physics
        for name, spot in change.things.items():
            if spot is None:
                self._present.discard(name)
                at = parking_of(physics.world.objects.index(name))
                physics.set_object(name, (*at, physics.rest_height(name)))
            else:
                self._present.add(name)
                physics.stand(name, spot.x, spot.y, spot.support_z, spot.yaw)
            then = None if spot is None else self._describe(name)
            self.happened.append({"event": change.event, "time": physics.time, "object": name, "then": then})


def _tool(robot: Physics) -> np.ndarray:
    return robot.tool_pose()[:3, 3]
