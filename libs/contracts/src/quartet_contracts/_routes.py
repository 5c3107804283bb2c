"""Routes that the robots of a place announce to each other before they drive."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from quartet_contracts.messages import Identifier, Message

Metres = Annotated[float, Field(ge=-1e4, le=1e4, allow_inf_nan=False)]
"""A coordinate in the map frame, or a length [m]."""
MAX_POINTS = 100


class Route(Message):
    """Way of one drive, from where the robot stood to its goal."""

    points: Annotated[tuple[tuple[Metres, Metres], ...], Field(min_length=1, max_length=MAX_POINTS)]
    """x, y in the map frame [m]."""
    driven_m: Annotated[Metres, Field(ge=0)] = 0.0
    """Length of what the robot has behind it [m]."""
    radius_m: Annotated[Metres, Field(gt=0)]
    """Circle around the robot's footprint [m]."""
    waiting: bool
    """Whether the robot has not set off, and lets others go first."""


@dataclass(frozen=True)
class AnnouncedRoute:
    """A route as the others of the place see it."""

    robot: Identifier
    number: int
    """Tells drives of a place apart: each that is announced has the next number."""
    route: Route


@dataclass(frozen=True)
class RouteTurn:
    """What an announcement gives: the number of this drive, and the routes of all other robots of the place."""

    number: int
    others: tuple[AnnouncedRoute, ...]
