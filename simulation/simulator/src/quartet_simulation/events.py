"""What people do with things while an episode runs: take one away, or put it elsewhere.

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

Moment = Literal["base near", "hand near"]
"""When a change happens: as a robot drives up to the thing, or as its hand comes to grasp it."""
MOMENTS: tuple[Moment, ...] = ("base near", "hand near")
NEAR_M = 1.3
"""How near the middle of a robot comes to a thing before somebody takes it [m]: nearer than it first looks from."""
HAND_NEAR_M = 0.28
"""The same of the tool frame, whose fingertips are above the thing then [m]."""
CLEAR_M = 0.6
"""Nobody puts a thing where the hand of a robot is as near as this [m]."""
LOOK_EVERY = 5
"""Ticks between two looks at the robots."""


@dataclass(frozen=True)
class Change:
    """Something that somebody does with a thing: where it stands afterwards, None away from the world."""

    event: Literal["taken", "moved"]
    name: str
    spot: Spot | None
    moment: Moment


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
            {"event": one.event, "object": one.name, "home": None if one.spot is None else one.spot.home}
            for one in self._to_happen
        ]

    def tick(self, robots: Sequence[Physics]) -> None:
        """Let happen what is due."""
        if not self._to_happen or self._physics.ticks % LOOK_EVERY:
            return
        for change in [one for one in self._to_happen if self._is_due(one, robots)]:
            self._to_happen.remove(change)
            self._do(change)

    def _is_due(self, change: Change, robots: Sequence[Physics]) -> bool:
        at, _ = self._physics.object_pose(change.name)
        if change.moment == "base near":
            come = any(math.dist(robot.base_pose()[:2], at[:2]) < NEAR_M for robot in robots)
        else:
            come = any(math.dist(_tool(robot), at) < HAND_NEAR_M for robot in robots)
        if not come or any(change.name in touched for robot in robots for touched in robot.touched_by_pads().values()):
            return False
        spot = change.spot
        return spot is None or all(math.dist(_tool(robot)[:2], (spot.x, spot.y)) > CLEAR_M for robot in robots)

    def _do(self, change: Change) -> None:
        physics, name, spot = self._physics, change.name, change.spot
        if spot is None:
            self._present.discard(name)
            physics.set_object(name, (*parking_of(list(physics.objects).index(name)), physics.rest_height(name)))
        else:
            physics.stand(name, spot.x, spot.y, spot.support_z, spot.yaw)
        then = None if spot is None else self._describe(name)
        self.happened.append({"event": change.event, "time": physics.time, "object": name, "then": then})


def _tool(robot: Physics) -> np.ndarray:
    return robot.tool_pose()[:3, 3]
