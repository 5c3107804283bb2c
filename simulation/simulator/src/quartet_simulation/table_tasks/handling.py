"""Poses with which a hand takes an object from above and puts it down."""

from __future__ import annotations

import math

import numpy as np

from quartet_simulation.table_arms import HandPose, Scene
from quartet_simulation.table_arms.poses import Vector

TABLE_TOP = 0.15
"""Height of the table's surface [m]."""
HOVER = 0.12
"""Height above a grasp or a target at which a hand comes from the side and leaves [m]."""
DEPTH = 0.03
"""Depth below the top at which fingers close [m]."""
DROP = 0.004
"""Height above its surface at which an object is released [m]."""


def grasp_pose(scene: Scene, name: str, height: float, *, suction: bool) -> HandPose:
    """Return the pose of a hand that takes an upright object of a height [m] from above, fingers along its x."""
    x, y, z = scene.position(name)
    top = z + height / 2
    if suction:
        return HandPose.down((x, y, top), any_turn=True)
    return HandPose.down((x, y, top - min(DEPTH, height / 2)), yaw_of(scene.rotation(name)))


def place_pose(height: float, target: Vector, tip_z: float) -> HandPose:
    """Return the pose of a hand that puts down an object.

    Args:
        height: of the object [m].
        target: point of a surface [m].
        tip_z: height of the tip above the object's middle [m].
    """
    x, y, z = target
    return HandPose.down((x, y, z + height / 2 + tip_z + DROP), any_turn=True)


def above(pose: HandPose) -> HandPose:
    """Return the pose `HOVER` above another."""
    x, y, z = pose.position
    return HandPose((x, y, z + HOVER), pose.quaternion, pose.any_turn)


def yaw_of(rotation: np.ndarray) -> float:
    """Return the horizontal direction of the x axis of a rotation matrix [rad]."""
    return math.atan2(rotation[1, 0], rotation[0, 0])


def point_text(point: Vector) -> str:
    """Return a point as texts show it, in centimetres; coordinates of a kilometre and more have three digits."""
    return f"({', '.join(f'{value:.2f}' if abs(value) < 1000 else f'{value:.3g}' for value in point)})"
