"""The objects that the robot can pick up: shapes, sizes, masses and colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import mujoco

from quartet_simulation.names import OBJECT_GROUP, body_name

Shape = Literal["cylinder", "box", "sphere"]
Rgb = tuple[float, float, float]
Finish = Literal["matt", "glossy", "clear"]
"""What a surface does to the light of a depth camera; glass is clear."""


@dataclass(frozen=True)
class Part:
    """A further geom of an object: offset from the centre [m], half sizes, colour; visual only unless `solid`."""

    shape: Shape
    offset: tuple[float, float, float]
    half: tuple[float, float, float]
    rgb: Rgb
    solid: bool = False


@dataclass(frozen=True)
class ObjectKind:
    """One object. `size` is its extent along x, y, z as it usually stands [m]."""

    name: str
    shape: Shape
    size: tuple[float, float, float]
    rgb: Rgb
    mass: float
    colours: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    finish: Finish = "matt"

    @property
    def radius(self) -> float:
        """Radius of the circle around the footprint [m]."""
        x, y, _ = self.size
        return max(x, y) / 2 if self.shape != "box" else (x * x + y * y) ** 0.5 / 2

    @property
    def half_height(self) -> float:
        """Half of the height [m]."""
        return self.size[2] / 2


def _can(name: str, rgb: Rgb, colours: tuple[str, ...], aliases: tuple[str, ...]) -> ObjectKind:
    metal = (0.78, 0.79, 0.80)
    rims = tuple(Part("cylinder", (0, 0, sign * 0.0595), (0.0285, 0.0285, 0.0017), metal) for sign in (1, -1))
    return ObjectKind(name, "cylinder", (0.066, 0.066, 0.118), rgb, 0.35, colours, aliases, rims, "glossy")


def _ball(name: str, diameter: float, rgb: Rgb, mass: float, colours: tuple[str, ...], aliases: Any = ()) -> Any:
    return ObjectKind(name, "sphere", (diameter, diameter, diameter), rgb, mass, colours, aliases)


def _cup(name: str, rgb: Rgb, colours: tuple[str, ...], aliases: tuple[str, ...]) -> ObjectKind:
    inside = tuple(c * 0.55 for c in rgb)
    mouth = Part("cylinder", (0, 0, 0.0462), (0.033, 0.033, 0.001), inside)  # type: ignore[arg-type]
    return ObjectKind(name, "cylinder", (0.078, 0.078, 0.092), rgb, 0.15, colours, aliases, (mouth,))


def _box(
    name: str, size: tuple[float, float, float], rgb: Rgb, mass: float, colours: Any, aliases: Any = (), parts: Any = ()
) -> ObjectKind:
    return ObjectKind(name, "box", size, rgb, mass, colours, aliases, parts)


PARCEL, PARCEL_SIZE = "parcel", (0.30, 0.20, 0.16)
"""How the names of parcels begin, and their size [m]: too wide for the gripper."""


def parcel_kind(name: str) -> ObjectKind:
    """Return a parcel: a box of cardboard."""
    return _box(name, PARCEL_SIZE, (0.71, 0.55, 0.37), 0.8, ("brown",))


CATALOGUE: dict[str, ObjectKind] = {
    kind.name: kind
    for kind in (
        _can("red coke can", (0.80, 0.03, 0.05), ("red",), ("coke can", "coke", "red can", "red soda can", "cola can")),
        _can("blue soda can", (0.05, 0.16, 0.66), ("blue",), ("pepsi can", "blue can", "soda can")),
        _cup("red cup", (0.78, 0.07, 0.08), ("red",), ("red mug", "red plastic cup")),
        _cup("yellow cup", (0.93, 0.76, 0.06), ("yellow",), ("yellow mug",)),
        _cup("blue mug", (0.10, 0.24, 0.62), ("blue",), ("blue cup", "coffee mug")),
        _ball("red apple", 0.074, (0.70, 0.05, 0.07), 0.18, ("red",)),
        _ball("green apple", 0.074, (0.36, 0.66, 0.10), 0.18, ("green",)),
        _ball("orange", 0.076, (0.96, 0.46, 0.03), 0.19, ("orange",), ("orange fruit",)),
        _ball("tennis ball", 0.066, (0.76, 0.90, 0.12), 0.06, ("lime",), ("ball", "yellow-green ball")),
        ObjectKind(
            "green bottle",
            "cylinder",
            (0.066, 0.066, 0.148),
            (0.05, 0.42, 0.17),
            0.35,
            ("green",),
            ("glass bottle",),
            (Part("cylinder", (0, 0, 0.0875), (0.015, 0.015, 0.0135), (0.05, 0.42, 0.17), True),),
            "clear",
        ),
        ObjectKind(
            "orange pill bottle",
            "cylinder",
            (0.052, 0.052, 0.075),
            (0.93, 0.42, 0.05),
            0.06,
            ("orange",),
            ("pill bottle", "medicine bottle", "medicine"),
            (Part("cylinder", (0, 0, 0.0445), (0.022, 0.022, 0.007), (0.93, 0.93, 0.92), True),),
        ),
        ObjectKind(
            "yellow soup can",
            "cylinder",
            (0.068, 0.068, 0.10),
            (0.93, 0.70, 0.08),
            0.35,
            ("yellow",),
            ("soup can",),
            (Part("cylinder", (0, 0, 0.0508), (0.032, 0.032, 0.001), (0.75, 0.76, 0.77)),),
            "glossy",
        ),
        _box("yellow cereal box", (0.14, 0.06, 0.175), (0.95, 0.73, 0.05), 0.30, ("yellow",), ("cereal box", "cereal")),
        _box("green tea box", (0.10, 0.065, 0.075), (0.16, 0.50, 0.22), 0.12, ("green",), ("tea box", "box of tea")),
        _box("purple toy block", (0.055, 0.055, 0.055), (0.44, 0.14, 0.60), 0.08, ("purple",), ("toy block", "block")),
        _box("orange toy block", (0.055, 0.055, 0.055), (0.96, 0.45, 0.05), 0.08, ("orange",), ("orange block",)),
        _box(
            "red toy car",
            (0.115, 0.055, 0.035),
            (0.80, 0.07, 0.09),
            0.12,
            ("red",),
            ("toy car", "car"),
            (Part("box", (-0.008, 0, 0.028), (0.030, 0.024, 0.0105), (0.80, 0.07, 0.09), True),),
        ),
        _box("blue book", (0.17, 0.11, 0.035), (0.07, 0.20, 0.55), 0.28, ("blue",), ("book",)),
        _box("pink tissue box", (0.12, 0.10, 0.09), (0.93, 0.50, 0.65), 0.15, ("pink",), ("tissue box", "tissues")),
        _box(
            "yellow rubber duck",
            (0.085, 0.060, 0.050),
            (0.98, 0.82, 0.06),
            0.06,
            ("yellow",),
            ("rubber duck", "duck", "toy duck"),
            (
                Part("sphere", (0.022, 0, 0.040), (0.024, 0.024, 0.024), (0.98, 0.82, 0.06), True),
                Part("box", (0.049, 0, 0.038), (0.006, 0.010, 0.004), (0.95, 0.45, 0.05)),
            ),
        ),
        _box("green sponge", (0.11, 0.07, 0.032), (0.30, 0.68, 0.25), 0.03, ("green",), ("sponge", "kitchen sponge")),
        _box(
            "black remote control",
            (0.16, 0.045, 0.024),
            (0.05, 0.05, 0.06),
            0.12,
            ("black",),
            ("remote control", "remote", "tv remote"),
        ),
    )
}


def add_object(spec: mujoco.MjSpec, kind: ObjectKind, park: tuple[float, float]) -> None:
    """Add `kind` as a free body, standing at `park` until it is placed."""
    body = spec.worldbody.add_body(name=body_name(kind.name), pos=(*park, kind.half_height))
    body.add_freejoint(name=body_name(kind.name))
    _add_geom(body, kind.shape, (0, 0, 0), tuple(s / 2 for s in kind.size), kind.rgb, kind.mass, True)
    for part in kind.parts:
        _add_geom(body, part.shape, part.offset, part.half, part.rgb, 0.0, part.solid)


def _add_geom(body: Any, shape: Shape, pos: Any, half: Any, rgb: Rgb, mass: float, solid: bool) -> None:
    types = {
        "cylinder": (mujoco.mjtGeom.mjGEOM_CYLINDER, [half[0], half[2], 0]),
        "box": (mujoco.mjtGeom.mjGEOM_BOX, list(half)),
        "sphere": (mujoco.mjtGeom.mjGEOM_SPHERE, [half[0], 0, 0]),
    }
    kind, size = types[shape]
    geom = body.add_geom(type=kind, pos=pos, size=size, rgba=(*rgb, 1), mass=mass, group=OBJECT_GROUP)
    # Rolling friction stops balls on a level table; the pads' priority overrides it in a grasp.
    geom.condim, geom.friction = (6 if shape == "sphere" else 4), [0.8, 0.01, 0.002]
    geom.solref = [0.01, 1]
    if not solid:
        geom.contype = geom.conaffinity = 0
