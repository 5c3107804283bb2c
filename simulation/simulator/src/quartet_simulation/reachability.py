"""Can a robot that stands at the entry of an area see a thing, and drive straight in to it?"""

from __future__ import annotations

import math

import mujoco
import numpy as np

from quartet_simulation.arm.collision import CollisionWorld
from quartet_simulation.physics import Physics
from quartet_simulation.sensors.localisation import compose
from quartet_simulation.worlds.world import Pose2

STEP = 0.08
HEADING_SLACK = 0.03
"""Straight drives must stay free for headings that are off by this much [rad]."""
SURFACE_STANDOFF, CONTAINER_STANDOFF = 0.66, 0.70
FURNITURE = np.array([1, 0, 0, 0, 0, 0], dtype=np.uint8)
"""Groups of geoms that stand fast, as rays take them."""
STOPS_SHORT = 0.06
"""The drive in may end this much nearer than the standoff [m]."""


def drive_in_is_free(checks: CollisionWorld, entry: Pose2, target: tuple[float, float], standoff: float) -> bool:
    """Is the straight way from `entry`, turned to `target`, free until `standoff` before it?

    `checks` holds the state of the world with the arm as it drives.
    """
    x, y, _ = entry
    bearing = math.atan2(target[1] - y, target[0] - x)
    length = math.hypot(target[0] - x, target[1] - y) - standoff + STOPS_SHORT
    if length <= 0:
        length = 0.0
    for slack in (0.0, HEADING_SLACK, -HEADING_SLACK):
        count = max(1, math.ceil(length / STEP))
        for i in range(count, -1, -1):
            checks.set_base(
                x + i / count * length * math.cos(bearing + slack),
                y + i / count * length * math.sin(bearing + slack),
                bearing + slack,
            )
            if checks.colliding():
                return False
    return True


def spin_is_free(checks: CollisionWorld, pose: Pose2) -> bool:
    """Can the robot turn all the way round at `pose`?"""
    for turn in np.arange(0, 2 * math.pi, 0.1):
        checks.set_base(pose[0], pose[1], pose[2] + float(turn))
        if checks.colliding():
            return False
    return True


def top_at(physics: Physics, x: float, y: float, below: float) -> float | None:
    """Return the height of the highest furniture or floor at (x, y) of map below a height [m]; None without any.

    The positions of `physics` must be up to date.
    """
    eye, hit = np.array([x, y, below]), np.zeros(1, dtype=np.int32)
    length = mujoco.mj_ray(physics.model, physics.data, eye, np.array([0.0, 0.0, -1.0]), FURNITURE, 1, -1, hit)
    return None if hit[0] < 0 else below - length


def open_between(physics: Physics, start: tuple[float, float], end: tuple[float, float], z: float) -> bool:
    """Return whether nothing of the furniture is on the straight line at height z from a point of map to another."""
    eye, hit = np.array([*start, z]), np.zeros(1, dtype=np.int32)
    way = np.array([end[0] - start[0], end[1] - start[1], 0.0])
    share = mujoco.mj_ray(physics.model, physics.data, eye, way, FURNITURE, 1, -1, hit)
    return hit[0] < 0 or share > 1.0


def visible_share(physics: Physics, entry: Pose2, name: str) -> float:
    """Return the share of four points of an object that the front camera sees from `entry`, turned to it.

    The positions of `physics` must be up to date.
    """
    model, data = physics.model, physics.data
    body, height = physics.objects[name], physics.world.kinds[name].size[2]
    ahead, aside, up = physics.build.front_camera.position
    target = data.xpos[body].copy()
    bearing = math.atan2(target[1] - entry[1], target[0] - entry[0])
    cx, cy, _ = compose((entry[0], entry[1], bearing), (ahead, aside, 0.0))
    eye = np.array([cx, cy, up])
    groups = np.array([1, 1, 0, 0, 0, 0], dtype=np.uint8)
    seen = 0
    side = np.array([-math.sin(bearing), math.cos(bearing), 0.0])
    for across, high in ((0.0, 0.6), (0.6, 0.3), (-0.6, 0.3), (0.0, -0.3)):
        point = target + side * (across * 0.03) + np.array([0, 0, high * height / 2])
        hit = np.zeros(1, dtype=np.int32)
        direction = point - eye
        mujoco.mj_ray(model, data, eye, direction, groups, 1, -1, hit)
        if hit[0] >= 0 and model.geom_bodyid[hit[0]] == body:
            seen += 1
    return seen / 4
