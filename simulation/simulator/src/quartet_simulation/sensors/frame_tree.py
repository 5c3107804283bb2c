"""Poses between frames of a transform tree."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from scipy.spatial.transform import Rotation

from quartet_simulation.errors import UnknownFrameError
from quartet_simulation.sensors.frames import Transform


class FrameTree:
    """Transforms at one time: 4x4 matrices from frame names."""

    def __init__(self, transforms: Iterable[Transform]) -> None:
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


def planar(pose: tuple[float, float, float]) -> np.ndarray:
    """4x4 matrix of a pose on the floor: x, y [m], yaw [rad]."""
    x, y, yaw = pose
    return matrix((x, y, 0.0), (0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)))


def matrix(translation: object, rotation: object) -> np.ndarray:
    """4x4 matrix of a translation [m] and a quaternion xyzw."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_quat(np.asarray(rotation, dtype=float)).as_matrix()
    pose[:3, 3] = np.asarray(translation, dtype=float)
    return pose
