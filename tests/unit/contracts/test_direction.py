"""Where fingers point, and the way on which a hand leaves."""

import math

import pytest

from quartet_contracts.tools import PITCH, Pose3D, advanced, fingers, withdrawn
from quartet_contracts.tools._direction import RISE


def facing_x(pitch: float) -> Pose3D:
    """A flange whose fingers point along x, and down by `pitch` [rad]: a turn about y by pi/2 + pitch."""
    half = (math.pi / 2 + pitch) / 2
    return Pose3D(frame_id="base", position=(0.6, 0.1, 0.9), orientation=(0.0, math.sin(half), 0.0, math.cos(half)))


@pytest.mark.parametrize("pitch", [0.0, 0.3, math.pi / 4, math.pi / 2])
def test_fingers_point_along_the_z_axis_of_the_flange(pitch: float) -> None:
    assert fingers(facing_x(pitch).orientation) == pytest.approx((math.cos(pitch), 0.0, -math.sin(pitch)))


def test_a_hand_that_points_down_leaves_straight_up() -> None:
    down = Pose3D(frame_id="base", position=(0.6, 0.1, 0.9), orientation=(1.0, 0.0, 0.0, 0.0))
    assert withdrawn(down, 0.2).position == (0.6, 0.1, pytest.approx(1.1))
    assert advanced(down, 0.2).position == (0.6, 0.1, pytest.approx(0.7))
    assert withdrawn(down, 0.2).orientation == down.orientation


def test_a_hand_that_points_ahead_leaves_backwards_and_a_little_up() -> None:
    level = facing_x(PITCH["front"])
    assert withdrawn(level, 0.2).position == pytest.approx((0.4, 0.1, 0.9 + RISE * 0.2))
    assert advanced(level, -0.2).position == pytest.approx((0.4, 0.1, 0.9))
    leaning = facing_x(PITCH["inclined"])
    assert withdrawn(leaning, 0.2) == advanced(leaning, -0.2), "it rises enough"
    raised = facing_x(-0.5)
    assert withdrawn(raised, 0.2).position[2] == pytest.approx(0.9 + RISE * 0.2), "back along the fingers is down"
