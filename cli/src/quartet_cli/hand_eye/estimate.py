"""The error of both cameras' mountings, estimated from looks at one board that does not move."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from quartet_cli.hand_eye.chessboard import Chessboard
from quartet_cli.hand_eye.errors import DegenerateLooksError
from quartet_cli.hand_eye.poses import from_vector, projected, to_vector
from quartet_robot_link import Intrinsics

Array = NDArray[np.float64]

LEAST_LOOKS = 6
LEAST_TURN_RAD = math.radians(6.0)
"""RMS turn of the looks against each other about the second of two axes."""
POSITION_M, ANGLE_RAD = 0.001, math.radians(0.1)
"""How positions and angles are weighed against each other: errors of an arm of about these sizes go together."""
TUKEY = 4.685
"""Residuals this many times their spread have no weight: 95 % efficiency under normal errors (Huber and Ronchetti,
Robust Statistics, 2nd edition, 2009)."""
CORNER_PX = 0.3
"""RMS error of a corner in a picture; an assumption, and larger than what blur and JPEG do, because it is alike for all
corners."""
DEPTH_SHARE = 0.005
"""Error of depth at a corner, as a share of the squared distance [1/m]; more than three of them count as three."""
MOUNTING_M, MOUNTING_RAD = 0.003, math.radians(0.5)
"""RMS error of the front camera's mounting for each axis before anything was seen; an assumption."""


@dataclass(frozen=True)
class Look:
    """One picture of the board by the wrist camera: the camera in the base frame by /tf, the board in it, both 4x4."""

    base_from_camera: Array
    camera_from_board: Array


@dataclass(frozen=True)
class Mounting:
    """Where a camera truly is, in the frame that /tf gives it.

    correction: 4x4. covariance: of its translation [m] and rotation vector [rad], (6, 6). board_at: its middle as
    the camera sees the board [m], (3,).
    """

    correction: Array
    covariance: Array
    board_at: Array

    def moves(self, known: Array) -> float:
        """Return how far the board is from where the camera is thought to see it, with the correction `known` [m]."""
        point = np.append(self.board_at, 1.0)
        return float(np.linalg.norm((self.correction @ point - known @ point)[:3]))

    @property
    def sure_m(self) -> float:
        """Standard deviation of where the board is, along the worst axis [m]."""
        away = np.hstack([np.eye(3), -_cross(self.correction[:3, :3] @ self.board_at)])
        return float(np.sqrt(np.linalg.eigvalsh(away @ self.covariance @ away.T).max()))


@dataclass(frozen=True)
class WristMounting(Mounting):
    """The same of the wrist camera, and where the board is in the base frame by it (4x4, with its covariance).

    spread_m, spread_rad: RMS of what the looks disagree. used: which looks count, outliers do not.
    """

    base_from_board: Array
    board_covariance: Array
    spread_m: float
    spread_rad: float
    used: NDArray[np.bool_]


def estimate_wrist(looks: Sequence[Look]) -> WristMounting:
    """Return the mounting of the wrist camera that lets all looks agree on where the board is.

    It minimises, over the camera's correction X and the board's pose B, what is left of A X C = B for each look, with
    /tf's pose of the camera A and the board in the camera C: hand-eye and robot-world calibration in one (Dornaika and
    Horaud, IEEE Trans. Robotics and Automation 14(4), 1998), solved by non-linear least squares with a metric on rigid
    motions (Strobl and Hirzinger, "Optimal hand-eye calibration", IROS 2006). A look is weighed as a whole, by Tukey's
    function of its residual.

    Raises:
        DegenerateLooksError: too few looks, or they do not turn about two axes, without which the mounting cannot be
            known (Tsai and Lenz, IEEE Trans. Robotics and Automation 5(3), 1989).
    """
    _check(looks)

    def residuals(vector: Array) -> Array:
        correction, board = from_vector(vector[:6]), from_vector(vector[6:])
        seen = [look.base_from_camera @ correction @ look.camera_from_board for look in looks]
        away = np.array([pose[:3, 3] - board[:3, 3] for pose in seen])
        turned = Rotation.from_matrix([board[:3, :3].T @ pose[:3, :3] for pose in seen]).as_rotvec()
        return np.hstack([away / POSITION_M, turned / ANGLE_RAD])

    first = np.array([to_vector(look.base_from_camera @ look.camera_from_board)[:3] for look in looks])
    nearest = int(np.argmin(np.linalg.norm(first - np.median(first, axis=0), axis=1)))
    middle = looks[nearest].base_from_camera @ looks[nearest].camera_from_board
    vector = np.concatenate([np.zeros(6), to_vector(middle)])
    weights = np.ones(len(looks))
    solved: Any = None
    for _ in range(30):
        root = np.sqrt(weights)[:, None]
        solved = least_squares(lambda v, root=root: (residuals(v) * root).ravel(), vector, x_scale="jac")
        vector = solved.x
        size = np.linalg.norm(residuals(vector), axis=1)
        # The median of a chi distribution with six degrees of freedom is 2.31.
        limit = TUKEY * max(float(np.median(size)) / 2.31, 1e-6) * math.sqrt(6)
        before, weights = weights, np.where(size < limit, (1 - (size / limit) ** 2) ** 2, 0.0)
        if np.abs(weights - before).max() < 1e-3:
            break
    used = weights > 0
    _check([look for look, counts in zip(looks, used, strict=True) if counts])
    left = residuals(vector)[used]
    variance = float(np.sum(left**2)) / (left.size - 12)
    covariance: Array = np.linalg.inv(solved.jac.T @ solved.jac).astype(np.float64) * variance
    at = np.mean([look.camera_from_board[:3, 3] for look in looks], axis=0)
    spread = np.sqrt(np.mean(np.sum(left.reshape(-1, 2, 3) ** 2, axis=2), axis=0))
    return WristMounting(
        from_vector(vector[:6]),
        covariance[:6, :6],
        at,
        from_vector(vector[6:]),
        covariance[6:, 6:],
        float(spread[0]) * POSITION_M,
        float(spread[1]) * ANGLE_RAD,
        used,
    )


def _check(looks: Sequence[Look]) -> None:
    if len(looks) < LEAST_LOOKS:
        raise DegenerateLooksError(
            f"the wrist camera saw the whole board from {len(looks)} poses that agree, at least {LEAST_LOOKS} are "
            "needed: lay it where the arm reaches all around it"
        )
    turns = Rotation.from_matrix(
        [looks[0].base_from_camera[:3, :3].T @ look.base_from_camera[:3, :3] for look in looks]
    )
    vectors = turns.as_rotvec()
    second = float(np.linalg.svd(vectors - vectors.mean(axis=0))[1][1]) / math.sqrt(len(looks))
    if second < LEAST_TURN_RAD:
        raise DegenerateLooksError(
            f"the looks turn by only {math.degrees(second):.1f} degrees about a second axis, at least "
            f"{math.degrees(LEAST_TURN_RAD):.0f} are needed: from such looks nobody can tell the mounting; lay the "
            "board where the arm can look at it from several sides"
        )


@dataclass(frozen=True)
class FrontPicture:
    """The board's corners as the front camera sees them: (N, 2) [px], and their depth (N,) [m], 0 for none."""

    corners: Array
    depth: Array


def estimate_front(
    board: Chessboard, pictures: Sequence[FrontPicture], k: Intrinsics, base_from_camera: Array, wrist: WristMounting
) -> Mounting:
    """Return the mounting of the front camera that shows the board where the wrist camera has it.

    A flat board far away hardly tells the camera's tilt from its place, so both are also held near to what /tf says, by
    how far a mounting is usually off (maximum a posteriori).

    Args:
        board: what is seen.
        pictures: its corners in each picture.
        k: calibration of the camera.
        base_from_camera: the camera by /tf, 4x4.
        wrist: what the wrist camera's looks gave.
    """
    corners = np.mean([picture.corners for picture in pictures], axis=0)
    depths = np.ma.masked_equal([picture.depth for picture in pictures], 0.0)
    depth = np.ma.median(depths, axis=0).filled(0.0)
    root = np.linalg.inv(np.linalg.cholesky(wrist.board_covariance + 1e-14 * np.eye(6)))
    around = to_vector(wrist.base_from_board)
    scale = np.repeat([MOUNTING_M, MOUNTING_RAD], 3)

    def residuals(vector: Array) -> Array:
        camera = base_from_camera @ from_vector(vector[:6])
        pose = np.linalg.inv(camera) @ from_vector(vector[6:])
        off = projected(board, pose, k) - corners
        beyond = (board.corners @ pose[2, :3] + pose[2, 3] - depth)[depth > 0]
        beyond = 3 * np.tanh(beyond / (3 * DEPTH_SHARE * pose[2, 3] ** 2))
        return np.concatenate([off.ravel() / CORNER_PX, beyond, vector[:6] / scale, root @ (vector[6:] - around)])

    solved = least_squares(residuals, np.concatenate([np.zeros(6), around]), x_scale="jac")
    covariance: Array = np.linalg.inv(solved.jac.T @ solved.jac).astype(np.float64)
    at = np.linalg.inv(base_from_camera @ from_vector(solved.x[:6])) @ from_vector(solved.x[6:])
    return Mounting(from_vector(solved.x[:6]), covariance[:6, :6], at[:3, 3])


def _cross(vector: Array) -> Array:
    x, y, z = vector
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
