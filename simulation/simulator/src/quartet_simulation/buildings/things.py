"""Things and calls of an episode in a building."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Thing:
    """An object, or a spot where one can be put down, by its centre in the map of a storey [m].

    `position` (x, y, z) has its height above the floor of the storey. An object is an upright box of `size`.
    """

    storey: str
    position: tuple[float, float, float]
    kind: Literal["object", "spot"] = "object"
    size: tuple[float, float, float] = (0.07, 0.07, 0.12)


@dataclass(frozen=True)
class Place:
    """A position on a storey; z is above its floor [m]."""

    storey: str
    position: tuple[float, float, float]


@dataclass(frozen=True)
class Call:
    """A function that a robot calls; names are those of Household.functions."""

    name: str
    target_obj: str = ""
    target_location: str = ""


@dataclass(frozen=True)
class Ended:
    """An action that has ended: whether it did what it should, why or why not, and how many steps it took."""

    robot: str
    call: Call
    ok: bool
    reason: str
    steps: int
