"""Rigid transforms as 4x4 matrices, and the pose of a board from its corners in a picture."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from quartet_cli.hand_eye.chessboard import Chessboard, homography
from quartet_robot_link import Intrinsics

Array = NDArray[np.float64]


def from_vector(vector: Array) -> Array:
    """Return the pose of a translation [m] and a rotation vector [rad], shape (6,), as 4x4."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec(vector[3:]).as_matrix()
    pose[:3, 3] = vector[:3]
    return pose


def to_vector(pose: Array) -> Array:
    """Return translation [m] and rotation vector [rad] of a 4x4 pose, shape (6,)."""
    return np.concatenate([pose[:3, 3], Rotation.from_matrix(pose[:3, :3]).as_rotvec()])


def board_pose(board: Chessboard, corners: Array, k: Intrinsics) -> Array:
    """Return the board in the optical frame, 4x4, from its corners in a picture (N, 2).

    The homography gives a first pose (Zhang, "A flexible new technique for camera calibration", IEEE Trans. PAMI
    22(11), 2000), which then minimises the distance of the corners in the picture.
    """
    matrix = np.linalg.inv([[k.fx, 0, k.cx], [0, k.fy, k.cy], [0, 0, 1]]) @ homography(board, corners)
    matrix /= (np.linalg.norm(matrix[:, 0]) + np.linalg.norm(matrix[:, 1])) / 2
    if matrix[2, 2] < 0:
        matrix = -matrix
    turned = np.stack([matrix[:, 0], matrix[:, 1], np.cross(matrix[:, 0], matrix[:, 1])], axis=1)
    u, _, v = np.linalg.svd(turned)
    start = np.eye(4)
    start[:3, :3], start[:3, 3] = u @ v, matrix[:, 2]

    solved = least_squares(
        lambda vector: (projected(board, from_vector(vector), k) - corners).ravel(), to_vector(start), method="lm"
    )
    return from_vector(solved.x)


def projected(board: Chessboard, camera_from_board: Array, k: Intrinsics) -> Array:
    """Return where the board's corners are in a picture [px], (N, 2)."""
    x, y, z = camera_from_board[:3, :3] @ board.corners.T + camera_from_board[:3, 3:]
    return np.stack([k.fx * x / z + k.cx, k.fy * y / z + k.cy], axis=1)
