"""What stands fast in a world, as boxes and places: for scoring, never for a robot."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np

from quartet_simulation.names import OBJECT_GROUP, is_person
from quartet_simulation.physics import Physics
from quartet_simulation.robot.parts import GROUP as ROBOT_GROUP


def layout_of(physics: Physics) -> dict[str, Any]:
    """Return the solid furniture, walls and doors as they are now, the places on and in it, and the robot's base.

    Lengths are in m, in the map frame. A solid is [x, y, yaw, half length, half width, z from, z to, is it round]:
    upright boxes and cylinders. Tilted and other shapes are left out, because a box around them would fill free space.
    `footprint` is the length and width of the base, `body_height` the height of its body's top.
    """
    world, base = physics.world, physics.build.base
    solid = map(int, np.flatnonzero(physics.model.geom_contype))
    return {
        "solids": [_solid(physics, geom) for geom in solid if _is_fast(physics, geom)],
        "surfaces": {one.name: {"rect": one.rect, "height": one.height} for one in world.surfaces},
        "containers": {one.name: {"rect": one.rect, "height": one.rim} for one in world.containers},
        "areas": {one.name: one.outline for one in world.areas},
        "footprint": [base.length, base.width],
        "body_height": base.height,
    }


def _is_fast(physics: Physics, geom: int) -> bool:
    model = physics.model
    is_shape = mujoco.mjtGeom(model.geom_type[geom]) in (mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_CYLINDER)
    is_upright = abs(physics.data.geom_xmat[geom][8]) > 1 - 1e-6
    if not (is_shape and is_upright) or model.geom_group[geom] in (OBJECT_GROUP, ROBOT_GROUP):
        return False
    return not is_person(model.body(int(model.geom_bodyid[geom])).name)


def _solid(physics: Physics, geom: int) -> list[Any]:
    model, turn = physics.model, physics.data.geom_xmat[geom].reshape(3, 3)
    centre, half = physics.data.geom_xpos[geom] + turn @ model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
    yaw = math.atan2(turn[1, 0], turn[0, 0])
    is_round = bool(model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CYLINDER)
    x, y, z = centre
    numbers = [x, y, yaw, half[0], half[1], z - half[2], z + half[2]]
    return [*(round(float(value), 4) for value in numbers), is_round]
