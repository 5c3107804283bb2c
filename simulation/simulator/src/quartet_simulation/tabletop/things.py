"""What stands on the table: named things made of boxes, cylinders and spheres."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import mujoco

from quartet_simulation import table_arms
from quartet_simulation.names import body_name
from quartet_simulation.table_arms import Shape
from quartet_simulation.table_arms.poses import Quaternion, Vector
from quartet_simulation.table_arms.things import add_shapes

TABLE_Z = 0.75199986
"""Height of the table's top in the world [m], as the paper's prompts have it."""
COLOURS: dict[str, tuple[float, float, float]] = {
    "red": (1.0, 0.0, 0.0),
    "maroon": (0.5, 0.0, 0.0),
    "lime": (0.0, 1.0, 0.0),
    "green": (0.0, 0.5, 0.0),
    "blue": (0.0, 0.0, 1.0),
    "navy": (0.0, 0.0, 0.5),
    "yellow": (1.0, 1.0, 0.0),
    "cyan": (0.0, 1.0, 1.0),
    "magenta": (1.0, 0.0, 1.0),
    "silver": (0.75, 0.75, 0.75),
    "gray": (0.5, 0.5, 0.5),
    "orange": (1.0, 0.5, 0.0),
    "olive": (0.5, 0.5, 0.0),
    "purple": (0.5, 0.0, 0.5),
    "teal": (0.0, 0.5, 0.5),
    "azure": (0.0, 0.5, 1.0),
    "violet": (0.5, 0.0, 1.0),
    "rose": (1.0, 0.0, 0.5),
    "black": (0.0, 0.0, 0.0),
    "white": (1.0, 1.0, 1.0),
}
"""The 20 colours of RLBench's variations."""
PROBE_GROUP = 4


@dataclass(frozen=True)
class Thing:
    """A thing on the table; its frame is in the middle of its extents."""

    name: str
    shapes: Sequence[Shape]
    position: Vector
    """Of its centre, in the world [m]."""
    extents: Vector
    """Along its own x, y and z [m]: the state's length, width and height."""
    yaw: float = 0.0
    colour: str = "unknown"
    mass: float | None = None
    """In kg; None: it does not move."""
    friction: float = 0.6
    solid: bool = True
    """Whether it can be touched; a mark on the table cannot."""
    told: bool = True
    """Whether the state has it."""


@dataclass(frozen=True)
class Layout:
    """Things, volumes and what is special of one episode."""

    things: Sequence[Thing]
    volumes: Mapping[str, Shape]
    """In the world; a thing is in one when one of its own shapes meets it."""
    screwed: tuple[str, str] | None = None
    """Names of a cap and of what it is screwed on."""


def add_thing(spec: mujoco.MjSpec, thing: Thing) -> None:
    """Add a thing as the body `body_name` of its name, with a free joint when it has a mass."""
    colour = (*COLOURS.get(thing.colour, (0.6, 0.55, 0.5)), 1.0)
    shapes = [replace(shape, colour=colour, solid=thing.solid) for shape in thing.shapes]
    table_arms.Thing(body_name(thing.name), shapes, thing.position, thing.yaw, thing.mass, thing.friction).add(spec)


def add_volume(spec: mujoco.MjSpec, name: str, shape: Shape) -> None:
    """Add a volume as the geom `name/0` that touches nothing and is not drawn."""
    add_shapes(spec.worldbody, name, [replace(shape, solid=False)], 0.0, 0.0, PROBE_GROUP)


def ring_of_plates(radius: float, height: float, plates: int, thickness: float) -> list[Shape]:
    """Return upright plates of a `height` round the z axis, with their inner sides at `radius` [m]."""
    half = (radius + thickness) * math.tan(math.pi / plates)
    middle = radius + thickness / 2
    angles = [2 * math.pi * number / plates for number in range(plates)]
    return [
        Shape(
            "box",
            (thickness / 2, half, height / 2),
            (middle * math.cos(angle), middle * math.sin(angle), 0.0),
            turned(angle),
        )
        for angle in angles
    ]


def turned(yaw: float, lean: float = 0.0) -> Quaternion:
    """Return the quaternion of a turn about z after one about the own y [rad]."""
    c, s = math.cos(yaw / 2), math.sin(yaw / 2)
    cl, sl = math.cos(lean / 2), math.sin(lean / 2)
    return c * cl, -s * sl, c * sl, s * cl
