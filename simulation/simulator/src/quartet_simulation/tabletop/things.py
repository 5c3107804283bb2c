"""What stands on the table: named things made of boxes, cylinders and spheres."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import mujoco

from quartet_simulation.names import OBJECT_GROUP, body_name
from quartet_simulation.robot.panda import ARM_BITS, OBJECT_BITS

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
_TYPES = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
}

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Shape:
    """One solid: half sizes of a box, radius and half height of a cylinder, radius of a sphere [m]."""

    kind: str
    size: Sequence[float]
    pos: Vector = (0.0, 0.0, 0.0)
    yaw: float = 0.0
    """Turn about z in the frame of the thing [rad]."""
    lean: float = 0.0
    """Turn about its own y after that [rad]."""


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
class Volume:
    """A box or cylinder in the world, in which a thing is when one of its shapes meets it."""

    name: str
    shape: Shape
    position: Vector
    yaw: float = 0.0


@dataclass(frozen=True)
class Layout:
    """Things, volumes and what is special of one episode."""

    things: Sequence[Thing]
    volumes: Sequence[Volume]
    screwed: tuple[str, str] | None = None
    """Names of a cap and of what it is screwed on."""


def add_thing(spec: mujoco.MjSpec, thing: Thing) -> None:
    """Add a thing as the body `body_name` of its name, with a free joint when it has a mass."""
    body = spec.worldbody.add_body(name=body_name(thing.name), pos=thing.position, quat=_about_z(thing.yaw))
    if thing.mass is not None:
        body.add_freejoint(name=body_name(thing.name))
    rgb = COLOURS.get(thing.colour, (0.6, 0.55, 0.5))
    volumes = [_volume(shape) for shape in thing.shapes]
    for number, (shape, volume) in enumerate(zip(thing.shapes, volumes, strict=True)):
        geom = body.add_geom(
            type=_TYPES[shape.kind],
            name=f"{thing.name}/{number}",
            pos=shape.pos,
            quat=_turn(shape),
            size=[*shape.size, 0, 0][:3],
            rgba=(*rgb, 1),
            condim=4,
            group=0 if thing.mass is None else OBJECT_GROUP,
        )
        if thing.mass is not None:
            geom.mass = thing.mass * volume / sum(volumes)
        geom.friction = [thing.friction, 0.005, 0.0001]
        geom.contype, geom.conaffinity = (OBJECT_BITS, OBJECT_BITS | ARM_BITS) if thing.solid else (0, 0)


def add_volume(spec: mujoco.MjSpec, volume: Volume) -> None:
    """Add a volume as a geom of its name that touches nothing and is not drawn."""
    spec.worldbody.add_geom(
        type=_TYPES[volume.shape.kind],
        name=volume.name,
        pos=volume.position,
        quat=_about_z(volume.yaw),
        size=[*volume.shape.size, 0, 0][:3],
        contype=0,
        conaffinity=0,
        group=PROBE_GROUP,
        rgba=(0, 1, 0, 0.2),
    )


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
            yaw=angle,
        )
        for angle in angles
    ]


def _volume(shape: Shape) -> float:
    size = shape.size
    if shape.kind == "box":
        return 8 * size[0] * size[1] * size[2]
    return 2 * math.pi * size[0] ** 2 * size[1] if shape.kind == "cylinder" else 4 / 3 * math.pi * size[0] ** 3


def _about_z(yaw: float) -> tuple[float, float, float, float]:
    return math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)


def _turn(shape: Shape) -> tuple[float, float, float, float]:
    c, s = math.cos(shape.yaw / 2), math.sin(shape.yaw / 2)
    cl, sl = math.cos(shape.lean / 2), math.sin(shape.lean / 2)
    return c * cl, -s * sl, c * sl, s * cl
