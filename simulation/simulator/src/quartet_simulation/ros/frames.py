"""Poses between frames of the transform tree."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from quartet_simulation.ros.messages import quaternion, vector
from quartet_simulation.ros.types import Message
from quartet_simulation.sensors.frame_tree import matrix


def from_pose(message: Message) -> np.ndarray:
    """geometry_msgs/Pose as a matrix. Raises ValueError for a quaternion of length zero."""
    position, orientation = message["position"], message["orientation"]
    turn = [orientation[axis] for axis in "xyzw"]
    if np.linalg.norm(turn) < 1e-6:
        raise ValueError(f"orientation {turn} is not a quaternion; use x, y, z, w of length 1")
    return matrix([position[axis] for axis in "xyz"], turn)


def to_pose(pose: np.ndarray) -> Message:
    """A matrix as geometry_msgs/Pose."""
    turn = Rotation.from_matrix(pose[:3, :3]).as_quat()
    return {"position": vector(pose[:3, 3]), "orientation": quaternion(turn)}
