"""From where the wrist camera looks at a board."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]

VIEWS = [
    (0.38, 0, 0, 0),
    (0.38, 25, 0, 0),
    (0.38, 25, 180, 0),
    (0.34, 0, 0, 60),
    (0.38, 25, 90, 0),
    (0.38, 25, 270, 0),
    (0.34, 0, 0, -60),
    (0.38, 30, 45, 45),
    (0.38, 30, 225, 90),
    (0.38, 30, 135, -45),
    (0.38, 30, 315, -90),
    (0.48, 15, 0, -30),
    (0.48, 15, 120, 30),
    (0.48, 15, 240, 75),
    (0.34, 20, 60, -100),
    (0.34, 20, 180, 100),
]
"""Distance [m], tilt from the vertical, direction to which it leans, and turn about the line of sight [degrees].

Tilts and turns go into all directions, so that each part of the mounting shows; the order is such that an early end has
some of each."""


def camera_poses(board_at: Array) -> list[Array]:
    """Return the optical frames from which to look at a point [m] from above, 4x4, both in the base frame."""
    poses: list[Array] = []
    for distance, tilt, direction, turn in VIEWS:
        lean = Rotation.from_euler("z", direction, degrees=True) * Rotation.from_euler("y", tilt, degrees=True)
        ahead = -lean.apply([0.0, 0.0, 1.0])
        right = np.array([0.0, -1.0, 0.0])
        right -= ahead * (right @ ahead)
        right = Rotation.from_rotvec(ahead * np.radians(turn)).apply(right / np.linalg.norm(right))
        pose = np.eye(4)
        pose[:3, :3] = np.stack([right, np.cross(ahead, right), ahead], axis=1)
        pose[:3, 3] = board_at - distance * ahead
        poses.append(pose)
    return poses
