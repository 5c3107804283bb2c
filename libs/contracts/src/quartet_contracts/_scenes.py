"""State of an arm's surroundings, as a team of models that writes programs for it is told."""

from typing import Annotated

from pydantic import Field

from quartet_contracts._objects import ObjectId, Term
from quartet_contracts.messages import Arguments

Number = Annotated[float, Field(ge=-1e4, le=1e4, allow_inf_nan=False)]
Length = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
Point = tuple[Number, Number, Number]
MAX_SCENE_OBJECTS = 40


class SceneObject(Arguments):
    """Object, surface or container, as the cameras have measured it."""

    name: Term
    """The site's name, with a number where there are several."""
    position: Point
    """Centre, base frame [m]."""
    yaw: Number = 0.0
    """Yaw of the gripper at which its fingers close along `size_m[0]` [rad]."""
    size_m: tuple[Length, Length, Length]
    """Along its own x, y and z."""
    colour: Annotated[str, Field(max_length=40)] = "unknown"
    object_id: ObjectId | None = None
    inside: Term | None = None
    """Container over whose opening it was let go; it has not been seen since."""
    unsure: bool = False
    """It was let go or lost at about this position and has not been seen since: where it is, is not known."""


class ArmScene(Arguments):
    """What an arm has around it, base frame."""

    objects: Annotated[tuple[SceneObject, ...], Field(max_length=MAX_SCENE_OBJECTS)] = ()
    hand_position: Point
    """Middle between the finger tips [m]."""
    hand_yaw: Number
    """Direction in which the fingers close [rad]."""
    held: Term | None = None
    """Name of what the gripper holds."""
