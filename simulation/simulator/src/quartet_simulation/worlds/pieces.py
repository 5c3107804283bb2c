"""Furniture of a world file: one model for each kind, which adds its shapes to a scene."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, ValidationInfo

from quartet_simulation.errors import ModelFileError
from quartet_simulation.worlds.fixed_model import FixedModel, FixedModels
from quartet_simulation.worlds.furniture import Furniture, Paint
from quartet_simulation.worlds.world import Rect

Finite = Annotated[float, Field(allow_inf_nan=False)]
Length = Annotated[float, Field(gt=0, le=50, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9' _-]{0,63}$")]
"""Lower-case words as a person says them, as in site.yaml."""
Point = tuple[Finite, Finite]
PaintName = str | tuple[Share, Share, Share]
"""Colour word, material, '#rrggbb', or RGB of 0 to 1; the file's own materials count too."""
Side = Literal["n", "e", "s", "w"]
Painter = Callable[[PaintName], Paint]


def _ordered(rect: Rect) -> Rect:
    if rect[0] >= rect[2] or rect[1] >= rect[3]:
        raise ValueError("a rectangle is [x from, y from, x to, y to], each from less than its to")
    return rect


Rectangle = Annotated[tuple[Finite, Finite, Finite, Finite], AfterValidator(_ordered)]
"""x from, y from, x to, y to in the map [m]."""


def _found(value: Any, info: ValidationInfo) -> FixedModel:
    assert isinstance(info.context, FixedModels)
    try:
        return info.context.find(value)
    except ModelFileError as error:
        raise ValueError(str(error)) from error


ModelPath = Annotated[FixedModel, PlainValidator(_found)]
"""A model file, by its path from the folder of the world file; validation needs FixedModels as its context."""


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

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        raise NotImplementedError


class _OnRect(Piece):
    rect: Rectangle

    def outline(self) -> Rect:
        """Return the rectangle around it [m]."""
        return self.rect


class _WithTop(_OnRect):
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


class Table(_WithTop):
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


class Cabinet(_WithTop):
    """A closed block with a top plate: counter, dresser, nightstand."""

    kind: Literal["cabinet"]
    body: PaintName = "white"
    doors: Doors | None = None

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        doors = None if self.doors is None else (self.doors.side, self.doors.count)
        make.cabinet(self.name, self.rect, self.height, paint(self.body), paint(self.colour), doors=doors)


class Shelf(_WithTop):
    """A shelf with a flat top and one board in the middle, open at its front."""

    kind: Literal["shelf"]
    front: Side

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        make.shelf(self.name, self.rect, self.height, paint(self.colour), self.front)


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

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        make.bin(self.name, self.centre, self.size, self.height, paint(self.colour))


class Sofa(_OnRect):
    """A sofa with its back at one side."""

    kind: Literal["sofa"]
    back: Side
    colour: PaintName

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        make.sofa(self.name, self.rect, self.back, paint(self.colour))


class Bed(_OnRect):
    """A bed with its pillows at one side."""

    kind: Literal["bed"]
    height: Length
    head: Side
    colour: PaintName

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        make.bed(self.name, self.rect, self.height, self.head, paint(self.colour))


class Chair(_OnRect):
    """A chair with its back at one side."""

    kind: Literal["chair"]
    back: Side
    colour: PaintName

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        make.chair(self.name, self.rect, self.back, paint(self.colour))


class Rug(_OnRect):
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


class Box(_OnRect):
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


class SceneTop(_WithTop):
    """A top that the scene or another piece has, on which things stand; it has no shapes of its own."""

    kind: Literal["top"]

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add nothing."""


AnyPiece = Annotated[
    Table | RoundTable | Cabinet | Shelf | Bin | Sofa | Bed | Chair | Rug | Chessboard | Plant | Box | Model | SceneTop,
    Field(discriminator="kind"),
]
