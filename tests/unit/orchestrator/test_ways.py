"""Ways between areas: what is known of them, and where two robots that drive would meet."""

import pytest

from quartet_orchestrator.tasks.ways import DRIVE_S, DRIVE_SLOWNESS, SPEED_M_S, Drive, Stay, Ways, blocks, length, meet

A, DOOR, B = (0.0, 0.0), (0.0, 6.0), (4.0, 6.0)
AROUND = (A, (0.0, 2.0), (0.0, 4.0), DOOR, (2.0, 6.0), B)


def test_a_known_way_counts_in_both_directions_and_for_a_robot_that_stands_on_it():
    ways = Ways([AROUND])
    assert ways.line(A, B) == AROUND
    assert ways.line(B, A) == AROUND[::-1]
    assert length(ways.line((0.5, 4.0), B)) == pytest.approx(0.5 + 6.0)
    assert ways.seconds(A, B) == pytest.approx(DRIVE_S + DRIVE_SLOWNESS / SPEED_M_S * 10.0)


def test_a_way_that_is_not_known_is_straight():
    ways = Ways([AROUND, (), (A,)])
    assert ways.line((9.0, 0.0), B) == ((9.0, 0.0), B), "too far from the known one"
    assert ways.line(A, (1.0, 1.0)) == (A, (1.0, 1.0))
    assert (ways.seconds(A, A), ways.seconds(None, A), ways.seconds(A, None)) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (Drive(AROUND, 0, 10), Drive(AROUND[::-1], 0, 10), True),
        (Drive(AROUND, 0, 10), Drive(AROUND, 3, 13), False),
        (Drive(AROUND, 0, 10), Drive(AROUND[::-1], 20, 30), False),
        (Drive(AROUND, 0, 10), Drive(((3.0, 0.0), (3.0, 4.0)), 0, 10), False),
        (Drive(((0, 0), (8, 8)), 0, 10), Drive(((0, 8), (8, 0)), 0, 10), True),
        (Drive(((0, 0), (8, 8)), 0, 10), Drive(((0, 8), (8, 0)), 9, 19), False),
        (Drive((A, A), 0, 10), Drive(AROUND, 0, 10), False),
    ],
    ids=["against", "behind", "after", "apart", "across", "across later", "no way"],
)
def test_two_robots_meet_in_opposite_directions_or_across_at_the_same_time(one, other, found):
    assert meet(one, other) is meet(other, one) is found


@pytest.mark.parametrize(
    ("stay", "found"),
    [
        (Stay((0.3, 4.0), 0, 20), True),
        (Stay((0.3, 4.0), 30, 50), False),
        (Stay((1.5, 4.0), 0, 20), False),
        (Stay((3.5, 6.0), 0, 20), False),
    ],
    ids=["in the way", "later", "beside it", "where it leads"],
)
def test_a_robot_that_works_on_a_way_blocks_it(stay, found):
    assert blocks(stay, Drive(AROUND, 0, 10)) is found
