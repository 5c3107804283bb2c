"""The fixed part of a world file as a MuJoCo scene: floors, walls, doors, furniture."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from quartet_simulation.worlds.file import LEAF_THICKNESS, Door, Wall, WorldFile
from quartet_simulation.worlds.furniture import Block, Furniture, Paint
from quartet_simulation.worlds.paint import MATERIALS, rgb_of
from quartet_simulation.worlds.piece import Painter, PaintName
from quartet_simulation.worlds.world import Rect

SCENE = "scene"
"""Begins the names of the shapes of a scene file; no piece's has a colon."""
BELOW_SCENE = -0.003
"""Height of floor coverings in a world with a scene, which may have a floor of its own, at 0 [m]."""
_OF_SCENE = "scene's "


def build_scene(file: WorldFile, spec: mujoco.MjSpec) -> list[Block]:
    """Add the fixed part of a world to a spec; return its solid shapes."""
    own = file.colours

    def paint(name: PaintName) -> Paint:
        if isinstance(name, str) and (name in MATERIALS or name in own):
            return name
        return rgb_of(name, own) or (0.5, 0.5, 0.5)

    make = Furniture(spec)
    make.ground()
    if file.scene is not None:
        for number, shape in enumerate(file.scene.shapes):
            make.owner = f"{_OF_SCENE}'{shape.label}'"
            make.shape(f"{SCENE}:{number}", file.scene.name, shape, np.eye(4))
    for room in file.rooms:
        make.floor(f"{room.name} floor", room.bounds(), paint(room.floor), BELOW_SCENE if file.scene else 0.0)
    for wall in file.walls:
        _build_wall(file, wall, make, paint)
    for piece in file.furniture:
        make.owner = piece.name
        piece.add(make, paint)
    return make.blocks


def _build_wall(file: WorldFile, wall: Wall, make: Furniture, paint: Painter) -> None:
    """Add a wall with its doors."""
    make.owner = f"wall '{wall.name}'"
    doors = [door for door in file.doors if door.wall == wall.name]
    make.wall(
        wall.name,
        wall.start,
        wall.end,
        [door.gap for door in doors],
        height=wall.height,
        thickness=wall.thickness,
        colour=paint(wall.colour),
    )
    for door in doors:
        make.owner = f"door '{door.name}'"
        leaf = leaf_of(door, wall)
        if leaf is not None and door.leaf == "open":
            make.leaf(door.name, leaf, wall.height, hinge_of(door, wall), paint("beech"))
        elif leaf is not None:
            make.box(f"{door.name} leaf", leaf, (0.01, wall.height), paint("beech"))


def is_of_scene(owner: str) -> bool:
    """Return whether the owner of a block is the scene file."""
    return owner.startswith(_OF_SCENE)


def hinge_of(door: Door, wall: Wall) -> tuple[float, float]:
    """Return the point about which the leaf of a door turns [m]."""
    half = wall.thickness / 2
    along = door.gap[0 if door.hinge == "low" else 1]
    across = wall.start[1 - wall.along] + (half if door.opens == "high" else -half)
    return (along, across) if wall.along == 0 else (across, along)


def closing_of(door: Door, wall: Wall) -> float:
    """Return by how much an open leaf turns until it closes its door [rad]."""
    clockwise = (door.hinge == "low") == (door.opens == "high")
    return math.pi / 2 * (-1 if clockwise == (wall.along == 0) else 1)


def leaf_of(door: Door, wall: Wall) -> Rect | None:
    """Return where the leaf of a door is, None for a door without one [m].

    An open leaf stands at right angles to the wall beside the gap, so that the gap keeps its clear width.
    """
    if door.leaf == "none":
        return None
    low, high = door.gap
    middle = wall.start[1 - wall.along]
    half = wall.thickness / 2
    if door.leaf == "closed":
        along, across = (low, high), (middle - LEAF_THICKNESS / 2, middle + LEAF_THICKNESS / 2)
    else:
        along = (low - LEAF_THICKNESS, low) if door.hinge == "low" else (high, high + LEAF_THICKNESS)
        across = (middle + half, middle + half + door.width) if door.opens == "high" else (
            middle - half - door.width, middle - half)  # fmt: skip
    if wall.along == 0:
        return along[0], across[0], along[1], across[1]
    return across[0], along[0], across[1], along[1]
