"""world.yaml: rooms, walls, doors, furniture, lights and things of one world."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from quartet_simulation.worlds.objects import CATALOGUE, Finish, ObjectKind
from quartet_simulation.worlds.paint import Pattern, Rgb, rgb_of, seen_as
from quartet_simulation.worlds.piece import (
    Finite,
    Length,
    PaintName,
    Piece,
    Point,
    Pose,
    Rectangle,
    Section,
    Share,
)
from quartet_simulation.worlds.pieces import AnyPiece, Bin, Model, ModelPath
from quartet_simulation.worlds.prints import PATTERNS, PRINTABLE, Print, PrintPattern
from quartet_simulation.worlds.world import Rect
from quartet_site import Name, Outline, normalise

WALL_HEIGHT, WALL_THICKNESS = 1.65, 0.10
DOOR_HEIGHT, LEAF_THICKNESS = 2.0, 0.04


def _hex(text: str) -> str:
    if re.fullmatch("#[0-9a-fA-F]{6}", text) is None:
        raise ValueError("the colour of a material is '#rrggbb' or [r, g, b] of 0 to 1")
    return text


def _place(text: str) -> str:
    """Return the name of a place as names are compared; a floor zone keeps its floor: before it."""
    zone = text.strip().removeprefix(FLOOR)
    return normalise(text) if zone == text.strip() else FLOOR + normalise(zone)


FLOOR = "floor:"
PlaceName = Annotated[str, AfterValidator(_place)]
"""A surface, or floor:<name of a floor zone>."""


class Material(Section):
    """A material of this world alone."""

    colour: Annotated[str, AfterValidator(_hex)] | tuple[Share, Share, Share]
    pattern: Pattern = "plain"


class FloorZone(Section):
    """Part of a room's floor where things may lie at the start: `floor:<name>` among a thing's places."""

    name: Name
    rect: Rectangle


class Room(Section):
    """A room or a part of one."""

    name: Name
    aliases: list[Name] = []
    outline: Outline
    """Corners in order [m]."""
    floor: PaintName = "parquet"
    entry: Pose | None = None
    """Where the robot stands after driving to the room, looking into it; worked out when it is left out."""
    landmarks: list[Name] = []
    floor_zone: FloorZone | None = None

    def bounds(self) -> Rect:
        """Return the rectangle around it [m]."""
        xs, ys = zip(*self.outline, strict=True)
        return min(xs), min(ys), max(xs), max(ys)

    def contains(self, x: float, y: float) -> bool:
        """Return whether a point of the map is in the room."""
        inside, points = False, self.outline
        for (ax, ay), (bx, by) in zip(points, points[1:] + points[:1], strict=True):
            if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
                inside = not inside
        return inside


class Wall(Section):
    """A wall along x or along y, from one point of its middle line to another."""

    name: Name
    start: Annotated[Point, Field(alias="from")]
    end: Annotated[Point, Field(alias="to")]
    height: Length = WALL_HEIGHT
    thickness: Length = WALL_THICKNESS
    colour: PaintName = "cream"

    @model_validator(mode="after")
    def _along_an_axis(self) -> Self:
        if (self.start[0] == self.end[0]) == (self.start[1] == self.end[1]):
            raise ValueError(f"a wall runs along x or along y; this one from {self.start} to {self.end}")
        if self.start[0] > self.end[0] or self.start[1] > self.end[1]:
            raise ValueError(f"a wall runs towards larger x or y; write it from {self.end} to {self.start}")
        return self

    @property
    def along(self) -> int:
        """0 for a wall along x, 1 for one along y."""
        return 0 if self.start[1] == self.end[1] else 1


class Door(Section):
    """A gap in a wall, with or without a leaf."""

    name: Name
    wall: Name
    at: Finite
    """Middle of the gap along the wall: x or y in the map [m]."""
    width: Length
    """Clear width [m]."""
    leaf: Literal["none", "open", "closed"] = "none"
    hinge: Literal["low", "high"] = "low"
    """Side of the gap with the lower or the higher x or y."""
    opens: Literal["low", "high"] = "high"
    """Side of the wall into which the leaf opens."""

    @property
    def gap(self) -> tuple[float, float]:
        """From and to along the wall [m]."""
        # Rounded, so that a gap ends where the numbers of the file add up to.
        return round(self.at - self.width / 2, 6), round(self.at + self.width / 2, 6)


class Lamp(Section):
    """A light: parallel from a direction, or a lamp at a point."""

    direction: tuple[Finite, Finite, Finite] = (0.0, 0.0, -1.0)
    at: tuple[Finite, Finite, Finite] | None = None
    strength: Annotated[float, Field(gt=0, le=2)] = 0.42


class Lights(Section):
    """Light of the whole world, at full daylight; scenarios dim and tint it."""

    ambient: Share = 0.38
    camera: Share = 0.30
    """Light that comes from where the camera is."""
    lamps: Annotated[list[Lamp], Field(max_length=6)] = [Lamp(direction=(0.25, 0.35, -1))]


class Thing(Section):
    """Something to carry around: of the catalogue, like something of the catalogue, or described here."""

    name: Name
    like: Name | None = None
    """Thing of the catalogue that it looks like."""
    shape: Literal["cylinder", "box", "sphere", "bowl"] | None = None
    size: tuple[Length, Length, Length] | None = None
    """Along x, along y, height, as it usually stands [m]."""
    colour: PaintName | None = None
    print: PrintPattern | None = None
    """What is printed on it; without it, what the catalogue's thing has, in that thing's own colour."""
    inks: Annotated[list[PaintName], Field(max_length=3)] = []
    """Colours of the print; white and black where there are fewer than it has."""
    finish: Finish | None = None
    """What its surface does to depth cameras."""
    mass: Annotated[float, Field(gt=0, le=50)] | None = None
    """Mass [kg]."""
    aliases: list[Name] | None = None
    places: Annotated[list[PlaceName], Field(min_length=1)]
    """Surfaces, and floor zones as floor:<name>; the place of an episode is drawn from these."""

    @model_validator(mode="after")
    def _is_described(self) -> Self:
        known = self.like or self.name
        if known not in CATALOGUE and (self.shape is None or self.size is None or self.colour is None):
            raise ValueError(
                f"'{known}' is not in the catalogue, so shape, size and colour must be given; in the catalogue: "
                f"{', '.join(sorted(CATALOGUE))}"
            )
        return self

    @model_validator(mode="after")
    def _keeps_its_parts(self) -> Self:
        base = CATALOGUE.get(self.like or self.name)
        if base is not None and base.parts and self.shape not in (None, base.shape):
            raise ValueError(
                f"'{base.name}' consists of several parts, so shape cannot be {self.shape}; leave shape out, or leave "
                "out like and give shape, size and colour"
            )
        return self

    @model_validator(mode="after")
    def _can_be_printed(self) -> Self:
        if self.shape == "bowl" and self.size is not None and self.size[0] != self.size[1]:
            raise ValueError(f"'{self.name}' is a bowl, so its two widths must be the same; size is {list(self.size)}")
        if self.inks and self.print is None:
            raise ValueError(
                f"inks are the colours of a print, and '{self.name}' has none; valid prints: {', '.join(PATTERNS)}"
            )
        base = CATALOGUE.get(self.like or self.name)
        shape = self.shape or (base.shape if base else None)
        if self.print is not None and shape not in PRINTABLE:
            raise ValueError(
                f"'{self.name}' is {'a bowl' if shape == 'bowl' else 'irregular'}, which nothing can be printed on; "
                f"valid with a print: {', '.join(PRINTABLE)}"
            )
        return self

    def kind(self, materials: dict[str, Rgb]) -> ObjectKind:
        """Return what it is; a colour that is not known is grey."""
        base = CATALOGUE.get(self.like or self.name)
        rgb = None if self.colour is None else rgb_of(self.colour, materials) or (0.5, 0.5, 0.5)
        shape = self.shape or (base.shape if base else "box")
        size = self.size or (base.size if base else (0.05, 0.05, 0.05))
        drawn = base.print if base and rgb in (None, base.rgb) else None
        if self.print is not None:
            inks = tuple(rgb_of(ink, materials) or (0.5, 0.5, 0.5) for ink in self.inks)
            drawn = Print(self.print, inks) if inks else Print(self.print)
        return ObjectKind(
            self.name,
            shape,
            size,
            rgb or (base.rgb if base else (0.5, 0.5, 0.5)),
            self.mass or (base.mass if base else 0.2),
            (seen_as(self.colour, rgb),) if self.colour is not None and rgb else base.colours if base else (),
            tuple(self.aliases) if self.aliases is not None else base.aliases if base and self.like is None else (),
            base.parts_in(rgb or base.rgb, size) if base and shape == base.shape else (),
            self.finish or (base.finish if base else "matt"),
            drawn,
        )


class Person(Section):
    """Somebody who stands in a doorway and goes aside a while after the robot has come near, or who walks about."""

    name: Name
    door: Name | None = None
    """Where they stand in each episode; without it, in episodes whose scenario says so."""
    leaves_after: Annotated[float, Field(ge=0, le=3600)] = 10.0
    """Time from when the robot is near until they go [s of world time]."""
    walks: list[Point] = []
    """Where they walk to in each episode, one after the other and from the first again [m]; else as a scenario says."""
    speed: Annotated[float, Field(ge=0.3, le=1.5)] | None = None
    """How fast they walk [m/s]; None: 0.6 aside, and 0.5 to 1.0 about, as the seed draws."""


class FarSpot(Section):
    """A point of a surface beyond the arm's reach, for scenarios that ask for one."""

    surface: Name
    x: Finite
    y: Finite


class Overhead(Section):
    """The view from above: its centre on the floor and the height of its camera [m]."""

    x: Finite
    y: Finite
    height: Length


class WorldFile(Section):
    """world.yaml, whole. Lengths in metres, in the map frame."""

    name: Name
    description: str = ""
    materials: dict[Name, Material] = {}
    scene: ModelPath | None = None
    """Walls and furniture as a model file has them, in the frame of the map."""
    rooms: Annotated[list[Room], Field(min_length=1)]
    walls: list[Wall] = []
    doors: list[Door] = []
    furniture: list[AnyPiece] = []
    lights: Lights = Lights()
    things: list[Thing] = []
    people: Annotated[list[Person], Field(max_length=4)] = []
    parcels: Annotated[int, Field(ge=0, le=12)] = 0
    """How many parcels people have to fill a place with."""
    layouts: dict[int, dict[Name, PlaceName]] = {}
    """Place of single things for some seeds."""
    start_rooms: list[Name] = []
    """Where the robot may be at the start; all rooms when it is left out."""
    parking: list[Pose] = []
    """Where a robot stands aside for another one."""
    far_spot: FarSpot | None = None
    overhead: Overhead | None = None

    @property
    def colours(self) -> dict[str, Rgb]:
        """The world's own materials with their mean colours."""
        found = {name: rgb_of(material.colour, {}) for name, material in self.materials.items()}
        return {name: rgb for name, rgb in found.items() if rgb is not None}

    @property
    def model_files(self) -> list[Path]:
        """All files that the scene and models of furniture consist of."""
        models = [piece.model for piece in self.furniture if isinstance(piece, Model)]
        models += [] if self.scene is None else [self.scene]
        return sorted({path for model in models for path in model.files})

    def surfaces(self) -> list[Piece]:
        """Return the furniture and the boards on which things can stand."""
        return [place for piece in self.furniture for place in piece.places() if place.top_height() is not None]

    def containers(self) -> list[Bin]:
        """Return the furniture into which things can be dropped."""
        return [piece for piece in self.furniture if isinstance(piece, Bin)]

    def room_of(self, x: float, y: float) -> Room | None:
        """Return the room at a point of the map, None outside of all."""
        return next((room for room in self.rooms if room.contains(x, y)), None)
