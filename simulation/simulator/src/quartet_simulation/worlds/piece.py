"""What all furniture of a world file has in common: lengths, names, paints, tops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from quartet_simulation.worlds.furniture import Furniture, Paint
from quartet_simulation.worlds.world import Rect
from quartet_site import Name, normalise

Finite = Annotated[float, Field(allow_inf_nan=False)]
Length = Annotated[float, Field(gt=0, le=50, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Point = tuple[Finite, Finite]
PaintName = Annotated[str, AfterValidator(normalise)] | tuple[Share, Share, Share]
"""Colour word, material, '#rrggbb', or RGB of 0 to 1; the file's own materials count too."""
Side = Literal["n", "e", "s", "w"]
Painter = Callable[[PaintName], Paint]


def _ordered(rect: Rect) -> Rect:
    if rect[0] >= rect[2] or rect[1] >= rect[3]:
        raise ValueError("a rectangle is [x from, y from, x to, y to], each from less than its to")
    return rect


Rectangle = Annotated[tuple[Finite, Finite, Finite, Finite], AfterValidator(_ordered)]
"""x from, y from, x to, y to in the map [m]."""


class Section(BaseModel):
    """A part of a world file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Pose(Section):
    """A pose on the floor in the map: x, y [m], yaw [rad]."""

    x: Finite
    y: Finite
    yaw: Finite = 0.0


class Top(Section):
    """What the robot may know of a top that carries things; what is left out is worked out."""

    aliases: list[Name] = []
    approach: Pose | None = None
    """Where the robot stands to see it."""
    strips: list[Rectangle] = []
    """Parts of the top where things stand at the start of an episode, in reach."""


class Piece(Section):
    """A piece of furniture."""

    name: Name

    def outline(self) -> Rect:
        """Return the rectangle around it [m]."""
        raise NotImplementedError

    def top_height(self) -> float | None:
        """Return the height of the top that carries things, None where none does [m]."""
        return None

    def top_rect(self) -> Rect:
        """Return the rectangle of the top that carries things [m]."""
        return self.outline()

    def top_paint(self) -> PaintName:
        """Return what its top is painted with."""
        return "white"

    def places(self) -> Sequence[Piece]:
        """Return the pieces on or in which things can be put: itself, or its boards."""
        return [] if self.top_height() is None else [self]

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        raise NotImplementedError


class OnRect(Piece):
    """A piece over a rectangle."""

    rect: Rectangle

    def outline(self) -> Rect:
        """Return the rectangle around it [m]."""
        return self.rect


class WithTop(OnRect):
    """A piece with a flat top over all of its rectangle."""

    height: Length
    colour: PaintName
    surface: Top | None = Top()
    """null: things do not stand on it."""

    def top_height(self) -> float | None:
        """Return the height of its top where things stand on it [m]."""
        return None if self.surface is None else self.height

    def top_paint(self) -> PaintName:
        """Return the paint of its top."""
        return self.colour
