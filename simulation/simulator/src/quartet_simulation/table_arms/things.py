"""What lies on the table and what is bolted to a hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco

from quartet_simulation.errors import UnknownNameError
from quartet_simulation.names import OBJECT_GROUP
from quartet_simulation.robot.parts import quaternion
from quartet_simulation.table_arms.poses import Quaternion, Vector

Colour = tuple[float, float, float, float]
GEOMS = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
}
FRICTION = 0.8


@dataclass(frozen=True)
class Shape:
    """A solid: half sizes of a box, radius and half length of a cylinder or capsule, radius of a sphere [m]."""

    kind: str
    size: Sequence[float]
    position: Vector = (0.0, 0.0, 0.0)
    quaternion: Quaternion = (1.0, 0.0, 0.0, 0.0)
    colour: Colour = (0.7, 0.7, 0.7, 1.0)
    solid: bool = True
    """Whether it can be touched; a mark cannot."""

    @property
    def volume(self) -> float:
        """Its volume [m^3]."""
        match self.kind:
            case "box":
                return 8 * math.prod(self.size)
            case "sphere":
                return 4 / 3 * math.pi * self.size[0] ** 3
        radius, half = self.size
        return math.pi * radius**2 * (2 * half + (4 / 3 * radius if self.kind == "capsule" else 0.0))


@dataclass(frozen=True)
class Thing:
    """A rigid body of its own name, made of shapes."""

    name: str
    shapes: Sequence[Shape]
    position: Vector
    yaw: float = 0.0
    mass: float | None = None
    """In kg; None: it does not move."""
    friction: float = FRICTION

    def add(self, spec: mujoco.MjSpec) -> None:
        """Add the body to a specification, with a free joint of its name when it has a mass."""
        body = spec.worldbody.add_body(name=self.name, pos=self.position, quat=quaternion((0, 0, 1), self.yaw))
        if self.mass is not None:
            body.add_freejoint(name=self.name)
        group = 0 if self.mass is None else OBJECT_GROUP
        add_shapes(body, self.name, self.shapes, self.mass or 0.0, self.friction, group)


@dataclass(frozen=True)
class Rope:
    """A chain of capsules with ball joints; the bodies are `name/00`, `name/01`, ..."""

    name: str
    position: Vector
    """Of its middle when straight [m]."""
    yaw: float = 0.0
    """Direction in which it lies [rad]."""
    links: int = 25
    radius: float = 0.01
    spacing: float = 0.03
    """From one link to the next [m]."""
    link_mass: float = 0.01
    colour: Colour = (0.8, 0.6, 0.2, 1.0)
    bend_damping: float = 0.005
    """Of the joints between links [Nms/rad]."""

    def add(self, spec: mujoco.MjSpec) -> None:
        """Add the chain to a specification; the first link has a free joint."""
        x, y, z = self.position
        back = (self.links - 1) / 2 * self.spacing
        start = (x - back * math.cos(self.yaw), y - back * math.sin(self.yaw), z)
        body = spec.worldbody.add_body(name=self.link(0), pos=start, quat=quaternion((0, 0, 1), self.yaw))
        body.add_freejoint(name=self.name)
        half = (self.spacing - self.radius) / 2
        shape = Shape(
            "capsule", (self.radius, half), quaternion=(math.sqrt(0.5), 0, math.sqrt(0.5), 0), colour=self.colour
        )
        add_shapes(body, self.link(0), (shape,), self.link_mass, FRICTION)
        for number in range(1, self.links):
            body = body.add_body(name=self.link(number), pos=(self.spacing, 0, 0))
            joint = body.add_joint(
                name=self.link(number), type=mujoco.mjtJoint.mjJNT_BALL, pos=(-self.spacing / 2, 0, 0), armature=1e-4
            )
            joint.damping = [self.bend_damping, 0, 0]
            add_shapes(body, self.link(number), (shape,), self.link_mass, FRICTION)

    def link(self, number: int) -> str:
        """Return the name of a link's body; -1 is the last."""
        return f"{self.name}/{number % self.links:02d}"


@dataclass(frozen=True)
class BoltedTool:
    """A tool fixed to the flange, such as a dustpan; the shapes are in the flange's frame, whose z points outwards."""

    shapes: Sequence[Shape]
    tip: Vector
    """In the flange's frame [m]; its axes are those of the flange."""
    mass: float = 0.3
    friction: float = 0.6
    """Of its contacts, whatever it touches."""


Builder = Callable[[mujoco.MjSpec], None]
"""Adds bodies of its own to the specification, such as a cabinet with doors on hinges."""


def add_shapes(body: Any, name: str, shapes: Sequence[Shape], mass: float, friction: float, group: int = 0) -> None:
    """Add geoms named `name/number` to a body and share the mass among them by volume."""
    for number, shape in enumerate(shapes):
        if shape.kind not in GEOMS:
            raise UnknownNameError("kind of shape", shape.kind, GEOMS)
        total = sum(one.volume for one in shapes if one.solid)
        geom = body.add_geom(
            type=GEOMS[shape.kind],
            name=f"{name}/{number}",
            pos=shape.position,
            quat=shape.quaternion,
            size=[*shape.size, 0, 0][:3],
            rgba=shape.colour,
            condim=4,
            group=group,
            mass=mass * shape.volume / total if shape.solid else 0.0,
        )
        geom.friction = [friction, 0.005, 0.0001]
        if not shape.solid:
            geom.contype = geom.conaffinity = 0
