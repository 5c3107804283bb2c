"""A building: storeys with a world each, one above the other, and the stairs between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import mujoco

from quartet_simulation.buildings.file import Stairs
from quartet_simulation.errors import UnknownNameError
from quartet_simulation.solver import new_scene
from quartet_simulation.worlds.paint import add_materials
from quartet_simulation.worlds.world import World

Position = tuple[float, float, float]
"""x and y in the map of a storey, z above its floor [m]."""


@dataclass(frozen=True)
class Stand:
    """Pose of a robot's base frame in the map of a storey; `height` is above its floor [m, rad]."""

    storey: str
    x: float
    y: float
    yaw: float = 0.0
    height: float = 0.0


@dataclass(frozen=True, eq=False)
class Storey:
    """A floor of a building; `elevation` is that of its floor above the lowest one, `height` up to the next one [m]."""

    name: str
    world: World
    height: float
    elevation: float

    @cached_property
    def model(self) -> mujoco.MjModel:
        """Model of its walls and furniture."""
        return furnished(self.world).compile()

    @cached_property
    def data(self) -> mujoco.MjData:
        """Kinematics of its model."""
        data = mujoco.MjData(self.model)
        mujoco.mj_kinematics(self.model, data)
        mujoco.mj_comPos(self.model, data)
        return data


@dataclass(frozen=True, eq=False)
class Building:
    """Storeys by name, from the lowest on, and stairs. The maps of all storeys have the same x and y."""

    name: str
    storeys: dict[str, Storey]
    stairs: tuple[Stairs, ...]

    def storey(self, name: str) -> Storey:
        """Return a storey. Raises UnknownNameError."""
        if name not in self.storeys:
            raise UnknownNameError("storey", name, self.storeys)
        return self.storeys[name]

    def distance(self, stand: Stand, storey: str, position: Position) -> float:
        """Return the straight distance in space between a base frame and a position on a storey [m]."""
        floors = self.storey(storey).elevation - self.storey(stand.storey).elevation
        return math.hypot(position[0] - stand.x, position[1] - stand.y, floors + position[2] - stand.height)


def furnished(world: World) -> mujoco.MjSpec:
    """Return a scene with the walls and the furniture of a world alone."""
    spec = new_scene(world.name)
    add_materials(spec, world.materials, textures=False)
    world.build(spec)
    return spec
