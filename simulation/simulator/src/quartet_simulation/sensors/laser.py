"""A planar laser around the robot, 360 degrees, one ray per degree."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np

from quartet_simulation.physics import Physics
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.robot.parts import GROUP as ROBOT_GROUP
from quartet_simulation.sensors.noise import generator

RAYS = 360
HIDDEN = 5
"""A geom group that no ray meets."""
NOISE = 0.008
"""Standard deviation of a range [m]."""


def first_hit(physics: Physics, x: float, y: float) -> tuple[float, int]:
    """Return how far a beam towards a point of the map goes [m], and the body that it meets; -1 when it meets none."""
    bx, by, _ = physics.base_pose()
    hit = np.full(1, -1, dtype=np.int32)
    start, away = np.array([bx, by, physics.build.laser_height]), np.array([x - bx, y - by, 0.0])
    # Robots are not in the way: its own beams go past its own parts.
    groups = np.array([1, 1, 0, 0, 0, 0], dtype=np.uint8)
    distance = mujoco.mj_ray(physics.model, physics.data, start, away / np.linalg.norm(away), groups, 1, -1, hit)
    return (math.inf, -1) if hit[0] < 0 else (distance, int(physics.model.geom_bodyid[hit[0]]))


def scan(physics: Physics, seed: int, farthest: float = dim.LASER_RANGE[1]) -> dict[str, Any]:
    """Ranges [m] in the frame `laser`; no return is inf, as in sensor_msgs/LaserScan.

    Who needs no more than what is up to `farthest` away [m] gets the same ranges at less cost.
    """
    x, y, yaw = physics.base_pose()
    angles = np.linspace(-math.pi, math.pi, RAYS, endpoint=False)
    directions = np.zeros((RAYS, 3))
    directions[:, 0], directions[:, 1] = np.cos(angles + yaw), np.sin(angles + yaw)
    groups = np.array([1, 1, 1, 0, 0, 0], dtype=np.uint8)
    geoms, distances = np.full(RAYS, -1, dtype=np.int32), np.full(RAYS, -1.0)
    low, high = dim.LASER_RANGE[0], farthest
    # It looks through its own robot, not through others.
    physics.model.geom_group[physics.own_geoms] = HIDDEN
    mujoco.mj_multiRay(
        physics.model,
        physics.data,
        np.array([x, y, physics.build.laser_height]),
        directions.flatten(),
        groups,
        1,
        -1,
        geoms,
        distances,
        None,
        RAYS,
        high,
    )
    physics.model.geom_group[physics.own_geoms] = ROBOT_GROUP
    noisy = distances + generator(seed, "laser", physics.time).normal(0, NOISE, RAYS)
    ranges = np.where((distances < low) | (distances > high), np.inf, noisy).astype(np.float32)
    return {
        "angle_min": -math.pi,
        "angle_max": math.pi - 2 * math.pi / RAYS,
        "angle_increment": 2 * math.pi / RAYS,
        "range_min": low,
        "range_max": dim.LASER_RANGE[1],
        "ranges": ranges,
        "frame": "laser",
    }
