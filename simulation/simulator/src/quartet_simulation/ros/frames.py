"""Poses between frames of the transform tree."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from quartet_simulation.arm_simulation import ArmSimulation
from quartet_simulation.errors import UnknownFrameError
from quartet_simulation.ros.messages import Transform, quaternion, vector
from quartet_simulation.ros.types import Message


class FrameTree:
    """Transforms at one time: 4x4 matrices from frame names."""

    def __init__(self, transforms: list[Transform]) -> None:
        self._parents = {
            child: (parent, matrix(translation, rotation)) for parent, child, translation, rotation in transforms
        }
        self.names = {*self._parents, *(parent for parent, _ in self._parents.values())}

    def in_root(self, frame: str) -> np.ndarray:
        """Return the pose of a frame in the root (`map`). Raises UnknownFrameError."""
        if frame not in self.names:
            raise UnknownFrameError(f"frame '{frame}' is not in /tf; valid: {', '.join(sorted(self.names))}")
        pose = np.eye(4)
        while frame in self._parents:
            frame, step = self._parents[frame]
            pose = step @ pose
        return pose

    def between(self, target: str, source: str) -> np.ndarray:
        """Return the matrix that transforms points of `source` into `target`."""
        return np.linalg.inv(self.in_root(target)) @ self.in_root(source)


def tree(sim: ArmSimulation) -> FrameTree:
    """Return all frames of /tf and /tf_static as of now."""
    return FrameTree([*sim.static_transforms(), *sim.transforms()])


def matrix(translation: object, rotation: object) -> np.ndarray:
    """4x4 matrix of a translation [m] and a quaternion xyzw."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_quat(np.asarray(rotation, dtype=float)).as_matrix()
    pose[:3, 3] = np.asarray(translation, dtype=float)
    return pose


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
