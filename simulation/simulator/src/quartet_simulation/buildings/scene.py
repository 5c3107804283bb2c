"""The state of an episode: where robots and things are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from quartet_simulation.arm.model import standing
from quartet_simulation.bodies.body import Body
from quartet_simulation.buildings.building import Building, Position, Stand
from quartet_simulation.buildings.routes import Route, Routes, routes_of
from quartet_simulation.errors import SimulationError, UnknownNameError

STEP_S = 0.1
"""Simulated time of a step [s]."""
AT_SPOT_M = 0.02
"""An object is at a spot that is at most so far from it."""


@dataclass(frozen=True)
class Thing:
    """An object, or a spot where one can be put down, by its centre on a storey.

    An object is an upright box of `size` along x, y and z [m].
    """

    storey: str
    position: Position
    kind: Literal["object", "spot"] = "object"
    size: Position = (0.07, 0.07, 0.12)


@dataclass(frozen=True)
class Place:
    """A position on a storey."""

    storey: str
    position: Position


@dataclass(frozen=True)
class Call:
    """A function that a robot calls; valid names are those of LIMITS."""

    name: str
    target_obj: str = ""
    target_location: str = ""


@dataclass(frozen=True)
class Plan:
    """What an action does, unless another robot interferes: how long it takes, and where the robot stands then."""

    ok: bool
    reason: str
    steps: int
    stand: Stand
    route: Route | None = None
    seen: Place | None = None
    """Where the thing to pick was when the action began."""


@dataclass
class Robot:
    """A robot: where it stands, what it holds, and its action with the step in which that began."""

    body: Body
    routes: Routes
    stand: Stand
    held: str | None = None
    action: tuple[Call, Plan, int] | None = None

    @property
    def speed(self) -> float:
        """Distance that it travels in a step [m]."""
        return self.body.file.mobility.speed_m_s * STEP_S

    @property
    def folded(self) -> np.ndarray:
        """Joints of the arm in the body's posture (J,)."""
        assert self.body.arm is not None
        return self.body.posture[self.body.model.jnt_qposadr[list(self.body.arm.joints)]]


class Scene:
    """Robots and things in a building. Raises UnknownNameError for a name that is not there."""

    def __init__(self, building: Building, things: dict[str, Thing]) -> None:
        self.building, self.things = building, things
        self.steps = 0
        """Steps that have passed."""
        for thing in things.values():
            building.storey(thing.storey)
        self.robots: dict[str, Robot] = {}
        self.places = {name: Place(thing.storey, thing.position) for name, thing in things.items()}
        """Where each thing is, or was before a robot took it."""

    def add(self, name: str, body: Body, start: Stand) -> None:
        """Add a robot. Raises UnknownNameError, and SimulationError if it cannot stand there."""
        routes = routes_of(self.building, body)
        floor = routes.floor(start.storey)
        if not floor.part_at(start.x, start.y):
            raise SimulationError(
                f"the robot '{name}' cannot stand at ({start.x:g}, {start.y:g}) on '{start.storey}': no floor that is "
                "free for it is near; give another start"
            )
        self.robots[name] = Robot(body, routes, replace(start, height=floor.height))

    def robot(self, name: str) -> Robot:
        """Return a robot."""
        if name not in self.robots:
            raise UnknownNameError("robot", name, self.robots)
        return self.robots[name]

    def busy(self, robot: str) -> bool:
        """Return whether a robot acts."""
        return self.robot(robot).action is not None

    def held(self, robot: str) -> str | None:
        """Return what a robot holds."""
        return self.robot(robot).held

    def holder(self, thing: str) -> str | None:
        """Return the robot that holds a thing."""
        return next((name for name, robot in self.robots.items() if robot.held == thing), None)

    def where(self, robot: str) -> Stand:
        """Return where the base of a robot is now; on stairs, in the map of the storey from which it comes."""
        one = self.robot(robot)
        if one.action is None or (route := one.action[1].route) is None:
            return one.stand
        return route.at((self.steps - one.action[2]) * one.speed)

    def position(self, thing: str) -> Place:
        """Return where the centre of a thing is now."""
        if thing not in self.things:
            raise UnknownNameError("thing", thing, self.things)
        if (holder := self.holder(thing)) is None:
            return self.places[thing]
        robot, stand = self.robots[holder], self.where(holder)
        hand = standing((stand.x, stand.y, stand.height), stand.yaw) @ robot.body.tip_at(robot.folded)
        x, y, z = (float(value) for value in hand[:3, 3])
        return Place(stand.storey, (x, y, z))

    def distance(self, robot: str, thing: str) -> float:
        """Return the distance in space from the base frame of a robot to the centre of a thing [m]."""
        place = self.position(thing)
        return self.building.distance(self.where(robot), place.storey, place.position)

    def at(self, thing: str, spot: str) -> bool:
        """Return whether a thing is at a spot, and in no hand."""
        one, other = self.position(thing), self.position(spot)
        near = one.storey == other.storey and math.dist(one.position, other.position) <= AT_SPOT_M
        return near and self.holder(thing) is None

    def object_at(self, spot: str) -> str | None:
        """Return the object that stands at a spot."""
        objects = [name for name, thing in self.things.items() if thing.kind == "object"]
        return next((name for name in objects if self.at(name, spot)), None)
