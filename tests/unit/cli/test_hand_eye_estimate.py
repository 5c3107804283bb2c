"""The mounting of a camera from looks at a board, on made-up looks whose truth is known."""

import math

import numpy as np
import pytest

from quartet_cli.commands.hand_eye import parse_board
from quartet_cli.errors import UsageError
from quartet_cli.hand_eye.chessboard import Chessboard
from quartet_cli.hand_eye.errors import DegenerateLooksError
from quartet_cli.hand_eye.estimate import FrontPicture, Look, estimate_front, estimate_wrist
from quartet_cli.hand_eye.poses import board_pose, from_vector, projected, to_vector
from quartet_cli.hand_eye.views import camera_poses
from quartet_robot_link import Intrinsics

BOARD = from_vector(np.array([0.8, 0.05, 0.0, math.pi, 0.0, 0.1]))
CAMERA = Intrinsics(640, 480, 415.0, 415.0, 319.5, 239.5)


def error_of(shift_mm: float = 6.0, turn_deg: float = 0.7, seed: int = 0) -> np.ndarray:
    """A mounting that is off by so much into a direction of the seed."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(2, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return from_vector(np.concatenate([shift_mm / 1000 * directions[0], math.radians(turn_deg) * directions[1]]))


def looks_with(error: np.ndarray, seed: int = 0, noise_m: float = 0.001, noise_deg: float = 0.1) -> list[Look]:
    """Looks of an arm that errs by so much at each pose."""
    rng = np.random.default_rng([seed, 1])
    found = []
    for known in camera_poses(BOARD[:3, 3]):
        arm = np.concatenate([rng.normal(0, noise_m, 3), rng.normal(0, math.radians(noise_deg), 3)])
        found.append(Look(known, np.linalg.inv(known @ error) @ from_vector(arm) @ BOARD))
    return found


def left(estimate: np.ndarray, error: np.ndarray) -> tuple[float, float]:
    """What an estimate leaves of an error [mm, degrees]."""
    vector = to_vector(np.linalg.inv(error) @ estimate)
    return float(np.linalg.norm(vector[:3])) * 1000, math.degrees(float(np.linalg.norm(vector[3:])))


def test_exact_looks_give_the_exact_mounting():
    error = error_of()
    found = estimate_wrist(looks_with(error, noise_m=0.0, noise_deg=0.0))
    assert left(found.correction, error) == pytest.approx((0, 0), abs=1e-4)
    assert to_vector(np.linalg.inv(BOARD) @ found.base_from_board) == pytest.approx(np.zeros(6), abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_an_arm_that_errs_leaves_a_fraction_and_says_how_sure_it_is(seed):
    error = error_of(seed=seed)
    found = estimate_wrist(looks_with(error, seed))
    millimetres, degrees = left(found.correction, error)
    assert millimetres < 2.5
    assert degrees < 0.25
    off = to_vector(np.linalg.inv(error) @ found.correction)
    assert np.all(np.abs(off) < 4 * np.sqrt(np.diag(found.covariance)))
    assert found.moves(error) < 3.5 * math.sqrt(3) * found.sure_m
    assert 0.0003 < found.sure_m < 0.002
    assert found.used.all()


@pytest.mark.parametrize("seed", range(5))
def test_looks_that_are_wrong_do_not_count(seed):
    error = error_of(seed=seed)
    looks = looks_with(error, seed)
    for number, wrong in (
        (2, [0.05, 0.0, 0.02, 0, 0, 0]),
        (7, [0, 0, 0, 0.3, 0.0, 0.2]),
        (11, [0.02, 0.02, 0, 0, 0, 0]),
    ):
        look = looks[number]
        looks[number] = Look(look.base_from_camera, from_vector(np.array(wrong)) @ look.camera_from_board)
    found = estimate_wrist(looks)
    assert not found.used[[2, 7, 11]].any()
    assert found.used.sum() >= len(looks) - 4
    millimetres, degrees = left(found.correction, error)
    assert millimetres < 3
    assert degrees < 0.3


def test_looks_from_one_pose_are_told_as_such():
    look = looks_with(error_of())[0]
    with pytest.raises(DegenerateLooksError, match="second axis"):
        estimate_wrist([look] * 12)


def test_turns_about_one_axis_alone_are_told_as_such():
    error, (first, *_) = error_of(), looks_with(error_of())
    turned = []
    for angle in np.radians(np.arange(-60, 70, 10)):
        known = first.base_from_camera @ from_vector(np.array([0, 0, 0, 0, 0, angle]))
        turned.append(Look(known, np.linalg.inv(known @ error) @ BOARD))
    with pytest.raises(DegenerateLooksError, match="second axis"):
        estimate_wrist(turned)


def test_too_few_looks_are_told_with_their_number():
    with pytest.raises(DegenerateLooksError, match="from 5 poses that agree, at least 6"):
        estimate_wrist(looks_with(error_of())[:5])


@pytest.mark.parametrize("seed", range(5))
def test_the_front_camera_follows_the_wrist_camera(seed):
    board, error = Chessboard(), error_of(seed=10 + seed)
    wrist = estimate_wrist(looks_with(error_of(seed=seed), seed, noise_m=0.0003, noise_deg=0.03))
    ahead = np.array([math.cos(0.6), 0.0, -math.sin(0.6)])
    known = np.eye(4)
    known[:3, :3] = np.stack([[0, -1, 0], np.cross(ahead, [0, -1, 0]), ahead], axis=1)
    known[:3, 3] = [0.05, 0.24, 1.38]
    seen = np.linalg.inv(known @ error) @ BOARD
    rng = np.random.default_rng([seed, 2])
    depth = board.corners @ seen[2, :3] + seen[2, 3] + rng.normal(0, 0.004, len(board.corners))
    depth[::5] = 0.0
    pictures = [
        FrontPicture(projected(board, seen, CAMERA) + rng.normal(0, 0.15, (len(depth), 2)), depth) for _ in range(5)
    ]
    found = estimate_front(board, pictures, CAMERA, known, wrist)
    shown = known @ found.correction @ seen
    assert np.linalg.norm(shown[:3, 3] - BOARD[:3, 3]) < 0.003 < np.linalg.norm((known @ seen)[:3, 3] - BOARD[:3, 3])
    assert found.sure_m < 0.003


@pytest.mark.parametrize("tilt", [0.0, 0.5, -0.7])
def test_the_pose_of_a_board_comes_from_its_corners(tilt):
    board = Chessboard()
    pose = from_vector(np.array([0.02, -0.03, 0.5, tilt, 0.2, 0.4]))
    found = board_pose(board, projected(board, pose, CAMERA), CAMERA)
    assert to_vector(np.linalg.inv(pose) @ found) == pytest.approx(np.zeros(6), abs=1e-6)


@pytest.mark.parametrize("squares", ["10", "9x9", "10x8", "3x4", "40x7", "axb"])
def test_a_board_that_cannot_be_used_is_refused(squares):
    with pytest.raises(UsageError, match="valid: two counts of squares from 4 to 30, one of them odd"):
        parse_board(squares, 27.0)


def test_the_order_of_the_counts_does_not_matter():
    assert parse_board("7x10", 27.0) == Chessboard() == parse_board("10x7", 27.0)
