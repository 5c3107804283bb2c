"""Furniture of a world file: one model for each kind, which adds its shapes to a scene."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PlainValidator, ValidationInfo

from quartet_simulation.errors import ModelFileError
from quartet_simulation.worlds.fixed_model import FixedModel, FixedModels
from quartet_simulation.worlds.furniture import Furniture
from quartet_simulation.worlds.piece import (
    Finite,
    Length,
    OnRect,
    Painter,
    PaintName,
    Piece,
    Point,
    Pose,
    Rectangle,
    Section,
    Side,
    Top,
    WithTop,
)
from quartet_simulation.worlds.shelves import SceneTop, Shelf, WallBoard
from quartet_simulation.worlds.world import Rect
from quartet_site import Name


def _found(value: Any, info: ValidationInfo) -> FixedModel:
    assert isinstance(info.context, FixedModels)
    try:
        return info.context.find(value)
    except ModelFileError as error:
        raise ValueError(str(error)) from error


ModelPath = Annotated[FixedModel, PlainValidator(_found)]
"""A model file, by its path from the folder of the world file; validation needs FixedModels as its context."""


class Table(WithTop):
    """A top on four legs."""

    kind: Literal["table"]
    leg: Length = 0.05

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        make.table(self.name, self.rect, self.height, paint(self.colour), leg=self.leg)


class RoundTable(Piece):
    """A round top on a column."""

    kind: Literal["round table"]
    centre: Point
    diameter: Length
    height: Length
    colour: PaintName
    surface: Top | None = Top()

    def outline(self) -> Rect:
        """Return the rectangle around it [m]."""
        (x, y), r = self.centre, self.diameter / 2
        return x - r, y - r, x + r, y + r

    def top_height(self) -> float | None:
        """Return the height of its top where things stand on it [m]."""
        return None if self.surface is None else self.height

    def top_paint(self) -> PaintName:
        """Return the paint of its top."""
        return self.colour

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        make.round_table(self.name, self.centre, self.diameter, self.height, paint(self.colour))


class Doors(Section):
    """Joints between the doors of a cabinet, to be seen."""

    side: Side
    count: Annotated[int, Field(ge=1, le=20)]


class Cabinet(WithTop):
    """A closed block with a top plate: counter, dresser, nightstand."""

    kind: Literal["cabinet"]
    body: PaintName = "white"
    doors: Doors | None = None

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        doors = None if self.doors is None else (self.doors.side, self.doors.count)
        make.cabinet(self.name, self.rect, self.height, paint(self.body), paint(self.colour), doors=doors)


class Bin(Piece):
    """A square container that is open at the top."""

    kind: Literal["bin"]
    centre: Point
    size: Length
    height: Length
    colour: PaintName
    aliases: list[Name] = []
    approach: Pose | None = None

    def outline(self) -> Rect:
        """Return the rectangle around it [m]."""
        (x, y), half = self.centre, self.size / 2
        return x - half, y - half, x + half, y + half

    def top_paint(self) -> PaintName:
        """Return the paint of its top."""
        return self.colour

    def places(self) -> Sequence[Piece]:
        """Return itself."""
        return [self]

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        make.bin(self.name, self.centre, self.size, self.height, paint(self.colour))


class Sofa(OnRect):
    """A sofa with its back at one side."""

    kind: Literal["sofa"]
    back: Side
    colour: PaintName

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        make.sofa(self.name, self.rect, self.back, paint(self.colour))


class Bed(OnRect):
    """A bed with its pillows at one side."""

    kind: Literal["bed"]
    height: Length
    head: Side
    colour: PaintName

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        make.bed(self.name, self.rect, self.height, self.head, paint(self.colour))


class Chair(OnRect):
    """A chair with its back at one side."""

    kind: Literal["chair"]
    back: Side
    colour: PaintName

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        make.chair(self.name, self.rect, self.back, paint(self.colour))


class Rug(OnRect):
    """A rug: flat, and only to be seen."""

    kind: Literal["rug"]
    colour: PaintName

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        make.rug(self.name, self.rect, paint(self.colour))


class Chessboard(Piece):
    """A printed board to calibrate cameras with: flat, and only to be seen."""

    kind: Literal["chessboard"]
    centre: Point
    height: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] = 0.0
    """Of what it lies on [m]."""

    def outline(self) -> Rect:
        """Return the rectangle around it [m]."""
        x, y = self.centre
        return x - 0.15, y - 0.11, x + 0.15, y + 0.11

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        make.chessboard(self.name, self.centre, self.height)


class Plant(Piece):
    """A pot with leaves."""

    kind: Literal["plant"]
    centre: Point
    height: Length

    def outline(self) -> Rect:
        """Return the rectangle around it [m]."""
        x, y = self.centre
        return x - 0.13, y - 0.13, x + 0.13, y + 0.13

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        make.plant(self.name, self.centre, self.height)


class Box(OnRect):
    """Any box: fridge, wardrobe, mirror, screen."""

    kind: Literal["box"]
    z: tuple[Finite, Finite]
    """From and to this height [m]."""
    colour: PaintName
    solid: bool = True
    """false: only to be seen."""

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        make.box(self.name, self.rect, self.z, paint(self.colour), solid=self.solid)


class ModelTop(Top):
    """The top of a model that carries things; what is left out is worked out from its shapes."""

    top: Length | None = None
    """Its height over the floor [m]; the highest one when it is left out."""
    rect: Rectangle | None = None
    """Where it is in the map [m]; around the shapes that end at its height when it is left out."""
    colour: PaintName | None = None


class Model(Piece):
    """Any piece of furniture, as the shapes of a model file."""

    kind: Literal["model"]
    model: ModelPath
    centre: Point
    """Of the outline of its solid shapes."""
    yaw: Finite = 0.0
    """Turn about the centre [rad]."""
    z: Finite = 0.0
    """By how much the model is raised [m]."""
    surface: ModelTop | None = None
    """Things stand on it where it is given."""

    @cached_property
    def pose(self) -> np.ndarray:
        """Pose of the model's frame in map, 4x4."""
        return self.model.pose(self.centre, self.yaw, self.z)

    def outline(self) -> Rect:
        """Return the rectangle around it [m]."""
        return self.model.outline(self.pose)

    def turned(self) -> bool:
        """Return whether its sides are not along x and y."""
        quarters = self.yaw / (np.pi / 2)
        return abs(quarters - round(quarters)) > 1e-3

    def heights(self) -> list[float]:
        """Return the heights at which its solid shapes end, without repetitions [m]."""
        return sorted({round(float(shape.extent(self.pose)[1, 2]), 3) for shape in self.model.shapes if shape.solid})

    def found_top(self) -> tuple[Rect, PaintName] | None:
        """Return the rectangle [m] and the colour of the shapes that end at the height of its top; None without any."""
        height = self.top_height()
        return None if height is None else self.model.top(self.pose, height)

    def top_height(self) -> float | None:
        """Return the height of its top where things stand on it [m]."""
        if self.surface is None:
            return None
        return self.surface.top if self.surface.top is not None else round(self.model.highest() + self.z, 4)

    def top_rect(self) -> Rect:
        """Return the rectangle of the top that carries things [m]."""
        if self.surface is not None and self.surface.rect is not None:
            return self.surface.rect
        found = self.found_top()
        return self.outline() if found is None else found[0]

    def top_paint(self) -> PaintName:
        """Return the paint of its top."""
        if self.surface is not None and self.surface.colour is not None:
            return self.surface.colour
        found = self.found_top()
        return super().top_paint() if found is None else found[1]

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        for number, shape in enumerate(self.model.shapes):
            make.shape(f"{self.name}:{number}", self.model.name, shape, self.pose)


AnyPiece = Annotated[
    Table
    | RoundTable
    | Cabinet
    | Shelf
    | WallBoard
    | Bin
    | Sofa
    | Bed
    | Chair
    | Rug
    | Chessboard
    | Plant
    | Box
    | Model
    | SceneTop,
    Field(discriminator="kind"),
]
