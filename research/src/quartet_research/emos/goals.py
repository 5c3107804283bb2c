"""Goals of a task, and their evaluation by ground truth."""

import math
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from quartet_simulation.buildings import Household
from quartet_simulation.buildings.pixels import detected

AT_M = 0.3
"""Largest distance of an object from its place (Habitat's default) [m]."""


class _Goal(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AnyAt(_Goal):
    """Any robot is near a thing."""

    kind: Literal["any_at"] = "any_at"
    thing: str
    within_m: float
    """Largest straight distance of a robot's base frame [m]."""

    def holds(self, household: Household) -> bool:
        """Return whether the goal is true."""
        return any(household.distance(robot, self.thing) <= self.within_m for robot in household.robots)

    def __str__(self) -> str:
        """Return the goal as a task states it."""
        return f"any_at({self.thing}, {self.within_m:g}): any robot is within {self.within_m:g} m of {self.thing}"


class IsDetected(_Goal):
    """Any robot sees a thing."""

    kind: Literal["is_detected"] = "is_detected"
    thing: str

    def holds(self, household: Household) -> bool:
        """Return whether the goal is true."""
        return any(detected(household, robot, self.thing) for robot in household.robots)

    def __str__(self) -> str:
        """Return the goal as a task states it."""
        return f"is_detected({self.thing}): any robot sees {self.thing} with a camera"


class At(_Goal):
    """An object is at a place, and no robot holds it."""

    kind: Literal["at"] = "at"
    thing: str
    place: str

    def holds(self, household: Household) -> bool:
        """Return whether the goal is true."""
        one, other = household.position(self.thing), household.position(self.place)
        near = one.storey == other.storey and math.dist(one.position, other.position) <= AT_M
        return near and all(household.held(robot) != self.thing for robot in household.robots)

    def __str__(self) -> str:
        """Return the goal as a task states it."""
        return f"at({self.thing}, {self.place}): {self.thing} is at {self.place}"


class NotHolding(_Goal):
    """A robot holds nothing."""

    kind: Literal["not_holding"] = "not_holding"
    robot: str

    def holds(self, household: Household) -> bool:
        """Return whether the goal is true."""
        return household.held(self.robot) is None

    def __str__(self) -> str:
        """Return the goal as a task states it."""
        return f"not_holding({self.robot}): {self.robot} holds nothing"


Goal = Annotated[AnyAt | IsDetected | At | NotHolding, Field(discriminator="kind")]
