"""The objects that the robot can pick up: shapes, sizes, masses and colours."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import mujoco

from quartet_simulation.names import OBJECT_GROUP, body_name
from quartet_simulation.worlds.paint import Rgb
from quartet_simulation.worlds.prints import Print, add_print

Shape = Literal["cylinder", "box", "sphere", "bowl", "irregular"]
"""A bowl is round and open at the top. Something irregular is no single one of the others: it is its parts alone."""
PartShape = Literal["cylinder", "box", "sphere", "capsule"]
"""A capsule lies along its own x."""
Finish = Literal["matt", "glossy", "clear"]
"""What a surface does to the light of a depth camera; glass is clear."""


@dataclass(frozen=True)
class Part:
    """A further geom of an object: offset from the centre [m], half sizes, colour; visual only unless `solid`.

    yaw: turn about the vertical axis [rad].
    """

    shape: PartShape
    offset: tuple[float, float, float]
    half: tuple[float, float, float]
    rgb: Rgb
    solid: bool = False
    yaw: float = 0.0


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
    print: Print | None = None

    @property
    def radius(self) -> float:
        """Radius of the circle around the footprint, with all parts [m]."""
        x, y, _ = self.size
        body = max(x, y) / 2 if self.shape in ("cylinder", "sphere", "bowl") else (x * x + y * y) ** 0.5 / 2
        parts = [math.hypot(*part.offset[:2]) + max(part.half[:2]) for part in self.parts if part.solid]
        return max([body, *parts]) if self.shape != "irregular" else body

    def parts_in(self, rgb: Rgb, size: tuple[float, float, float]) -> tuple[Part, ...]:
        """Return its parts for a thing of its shape with another colour and size [m]: parts of its colour take that."""
        sx, sy, sz = (new / old for new, old in zip(size, self.size, strict=True))

        def scaled(values: tuple[float, float, float]) -> tuple[float, float, float]:
            return values[0] * sx, values[1] * sy, values[2] * sz

        return tuple(
            replace(
                part, rgb=rgb if part.rgb == self.rgb else part.rgb, offset=scaled(part.offset), half=scaled(part.half)
            )
            for part in self.parts
        )

    @property
    def half_height(self) -> float:
        """Half of the height [m]."""
        return self.size[2] / 2


WHITE, CREAM, BLACK = (0.95, 0.95, 0.93), (0.94, 0.90, 0.78), (0.08, 0.08, 0.08)
BEECH: Rgb = (0.78, 0.60, 0.38)
BOWL_WALL_M, BOWL_SIDES = 0.005, 16


def _can(name: str, rgb: Rgb, colours: tuple[str, ...], aliases: tuple[str, ...]) -> ObjectKind:
    metal = (0.78, 0.79, 0.80)
    rims = tuple(Part("cylinder", (0, 0, sign * 0.0595), (0.0285, 0.0285, 0.0017), metal) for sign in (1, -1))
    size = (0.066, 0.066, 0.118)
    return ObjectKind(
        name, "cylinder", size, rgb, 0.35, colours, aliases, rims, "glossy", Print("label", (WHITE, WHITE))
    )


def _ball(
    name: str, diameter: float, rgb: Rgb, mass: float, colours: tuple[str, ...], aliases: Any = (), blush: Any = ()
) -> ObjectKind:
    size = (diameter, diameter, diameter)
    return ObjectKind(name, "sphere", size, rgb, mass, colours, aliases, print=Print("mottled", blush))


def _cup(
    name: str, rgb: Rgb, colours: tuple[str, ...], aliases: tuple[str, ...], drawn: Print | None = None
) -> ObjectKind:
    mouth = Part("cylinder", (0, 0, 0.0462), (0.033, 0.033, 0.001), _inside(rgb))
    return ObjectKind(name, "cylinder", (0.078, 0.078, 0.092), rgb, 0.15, colours, aliases, (mouth,), print=drawn)


def _mug(name: str, rgb: Rgb, colours: tuple[str, ...], aliases: tuple[str, ...]) -> ObjectKind:
    """Return a mug with a handle on its x side: two bars out of the wall, and one that joins them."""
    across, height, out, bar = 0.082, 0.095, 0.032, 0.006
    start, middle = across / 2 - 0.002, across / 2 + out / 2
    handle = (
        *(Part("box", (middle - 0.001, 0, z), (out / 2 + 0.001, bar, bar), rgb, True) for z in (0.024, -0.024)),
        Part("box", (start + out, 0, 0), (bar, bar, 0.030), rgb, True),
    )
    mouth = Part("cylinder", (0, 0, height / 2 + 0.0002), (across / 2 - 0.004, across / 2 - 0.004, 0.001), _inside(rgb))
    size = (across, across, height)
    return ObjectKind(name, "cylinder", size, rgb, 0.30, colours, aliases, (*handle, mouth), "glossy")


def _inside(rgb: Rgb) -> Rgb:
    r, g, b = rgb
    return (0.55 * r, 0.55 * g, 0.55 * b)


def _banana(name: str) -> ObjectKind:
    """Return a banana on its side: pieces of an arc, thinner towards both ends, which are brown."""
    rgb, brown = (0.93, 0.78, 0.12), (0.30, 0.22, 0.10)
    radius, thick, thin, count = 0.085, 0.017, 0.014, 5
    step = 0.155 / count / radius
    angles = [(number - (count - 1) / 2) * step for number in range(count)]
    thickness = [thin if abs(angle) > 1.5 * step else thick for angle in angles]
    half, end = radius * step / 2, angles[-1] + step / 2
    back, belly = radius + thick, radius * math.cos(end) - thin
    middle = (back + belly) / 2
    pieces = tuple(
        Part(
            "capsule",
            (radius * math.sin(angle), radius * math.cos(angle) - middle, across - thick),
            (half, across, across),
            rgb,
            True,
            -angle,
        )
        for angle, across in zip(angles, thickness, strict=True)
    )
    out = half + thin - 0.003
    tips = tuple(
        Part(
            "sphere",
            (
                side * (radius * math.sin(angles[-1]) + out * math.cos(angles[-1])),
                radius * math.cos(angles[-1]) - out * math.sin(angles[-1]) - middle,
                thin - thick,
            ),
            (0.007, 0.007, 0.007),
            brown,
        )
        for side in (1, -1)
    )
    length = 2 * (radius * math.sin(angles[-1]) + half * math.cos(angles[-1]) + thin)
    size = (round(length, 3), round(back - belly, 3), 2 * thick)
    return ObjectKind(name, "irregular", size, rgb, 0.12, ("yellow",), (), (*pieces, *tips))


def _box(
    name: str,
    size: tuple[float, float, float],
    rgb: Rgb,
    mass: float,
    colours: Any,
    aliases: Any = (),
    parts: Any = (),
    drawn: Print | None = None,
) -> ObjectKind:
    return ObjectKind(name, "box", size, rgb, mass, colours, aliases, parts, print=drawn)


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
        _cup("yellow cup", (0.93, 0.76, 0.06), ("yellow",), ("yellow mug",), Print("stripes", ((0.15, 0.30, 0.60),))),
        _mug("blue mug", (0.10, 0.24, 0.62), ("blue",), ("blue cup", "coffee mug")),
        _ball("red apple", 0.074, (0.70, 0.05, 0.07), 0.18, ("red",), (), ((0.80, 0.62, 0.20),)),
        _ball("green apple", 0.074, (0.36, 0.66, 0.10), 0.18, ("green",), (), ((0.72, 0.70, 0.25),)),
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
            Print("label", (CREAM, BLACK)),
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
            print=Print("label", (WHITE, BLACK)),
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
            Print("label", ((0.72, 0.10, 0.08), BLACK)),
        ),
        _box(
            "yellow cereal box",
            (0.14, 0.06, 0.175),
            (0.95, 0.73, 0.05),
            0.30,
            ("yellow",),
            ("cereal box", "cereal"),
            drawn=Print("carton", ((0.75, 0.10, 0.10), BLACK, (0.90, 0.86, 0.72))),
        ),
        _box(
            "green tea box",
            (0.10, 0.065, 0.075),
            (0.16, 0.50, 0.22),
            0.12,
            ("green",),
            ("tea box", "box of tea"),
            drawn=Print("carton", (CREAM, BLACK, (0.60, 0.75, 0.35))),
        ),
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
        _box(
            "blue book",
            (0.17, 0.11, 0.035),
            (0.07, 0.20, 0.55),
            0.28,
            ("blue",),
            ("book",),
            drawn=Print("carton", ((0.85, 0.72, 0.30), WHITE, (0.80, 0.84, 0.90))),
        ),
        _box(
            "pink tissue box",
            (0.12, 0.10, 0.09),
            (0.93, 0.50, 0.65),
            0.15,
            ("pink",),
            ("tissue box", "tissues"),
            drawn=Print("stripes", ((0.97, 0.85, 0.90),)),
        ),
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
        _banana("yellow banana"),
        ObjectKind("green bowl", "bowl", (0.11, 0.11, 0.05), (0.22, 0.58, 0.30), 0.25, ("green",), ("bowl",)),
        _box("small wooden cube", (0.03, 0.03, 0.03), BEECH, 0.02, ("wood",), ("wooden cube",), drawn=Print("grain")),
        ObjectKind(
            "blue paint tin",
            "cylinder",
            (0.10, 0.10, 0.12),
            (0.08, 0.30, 0.62),
            1.3,
            ("blue",),
            ("paint tin", "tin of paint", "tin"),
            (Part("cylinder", (0, 0, 0.0605), (0.044, 0.044, 0.001), (0.75, 0.76, 0.77)),),
            "glossy",
            Print("label", (WHITE, BLACK)),
        ),
        _box(
            "red juice carton",
            (0.118, 0.118, 0.15),
            (0.78, 0.10, 0.12),
            0.55,
            ("red",),
            ("juice carton", "carton of juice", "juice"),
            drawn=Print("carton", (WHITE, BLACK, (0.95, 0.60, 0.15))),
        ),
    )
}


def add_object(spec: mujoco.MjSpec, kind: ObjectKind, park: tuple[float, float], *, textures: bool = True) -> None:
    """Add `kind` as a free body, standing at `park` until it is placed."""
    body = spec.worldbody.add_body(name=body_name(kind.name), pos=(*park, kind.half_height))
    body.add_freejoint(name=body_name(kind.name))
    half = (kind.size[0] / 2, kind.size[1] / 2, kind.size[2] / 2)
    if kind.shape == "bowl":
        _add_bowl(body, kind)
    elif kind.shape != "irregular":
        geom = _add_geom(body, Part(kind.shape, (0, 0, 0), half, kind.rgb, True), kind.mass)
        if kind.print is not None and textures:
            # The texture has the thing's own colour.
            geom.material = add_print(spec, kind.name, kind.rgb, kind.shape, half, kind.print)
            geom.rgba = (1, 1, 1, 1)
    # Of one shape, the body has all the mass; otherwise its solid parts share it.
    shared = kind.mass / sum(part.solid for part in kind.parts) if kind.shape == "irregular" else 0.0
    for part in kind.parts:
        _add_geom(body, part, shared if part.solid else 0.0)


def _add_bowl(body: Any, kind: ObjectKind) -> None:
    """Add a floor and a wall of flat pieces around it, since MuJoCo takes one piece for the solid that it fills."""
    across, _, height = kind.size
    radius, half_wall = across / 2, BOWL_WALL_M / 2
    middle = radius - half_wall
    half_side = middle * math.tan(math.pi / BOWL_SIDES) + half_wall * 0.4
    floor = Part("cylinder", (0, 0, half_wall - height / 2), (middle, middle, half_wall), kind.rgb, True)
    _add_geom(body, floor, 0.4 * kind.mass)
    for number in range(BOWL_SIDES):
        angle = 2 * math.pi * number / BOWL_SIDES
        where = (middle * math.cos(angle), middle * math.sin(angle), 0)
        side = Part("box", where, (half_wall, half_side, height / 2), kind.rgb, True, angle)
        _add_geom(body, side, 0.6 * kind.mass / BOWL_SIDES)


def _add_geom(body: Any, part: Part, mass: float) -> Any:
    half = part.half
    types = {
        "cylinder": (mujoco.mjtGeom.mjGEOM_CYLINDER, [half[0], half[2], 0]),
        "box": (mujoco.mjtGeom.mjGEOM_BOX, list(half)),
        "sphere": (mujoco.mjtGeom.mjGEOM_SPHERE, [half[0], 0, 0]),
        "capsule": (mujoco.mjtGeom.mjGEOM_CAPSULE, [half[1], half[0], 0]),
    }
    kind, size = types[part.shape]
    geom = body.add_geom(type=kind, pos=part.offset, size=size, rgba=(*part.rgb, 1), mass=mass, group=OBJECT_GROUP)
    c, s = math.cos(part.yaw / 2), math.sin(part.yaw / 2)
    # MuJoCo's capsules stand along z.
    geom.quat = (c * 0.5**0.5, -s * 0.5**0.5, c * 0.5**0.5, s * 0.5**0.5) if part.shape == "capsule" else (c, 0, 0, s)
    # Rolling friction stops balls on a level table; the pads' priority overrides it in a grasp.
    geom.condim, geom.friction = (6 if part.shape in ("sphere", "capsule") else 4), [0.8, 0.01, 0.002]
    geom.solref = [0.01, 1]
    if not part.solid:
        geom.contype = geom.conaffinity = 0
    return geom
