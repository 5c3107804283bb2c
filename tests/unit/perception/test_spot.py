"""What stands at a spot, whatever it is."""

from dataclasses import replace

import numpy as np
import pytest

from quartet_perception.scene.spot import spot_in

TABLE = 0.45
BLOCK = (0.9, 0.05)
MOST = 0.25
GREY = (0.5, 0.5, 0.5)


@pytest.fixture
def table(new_scene):
    return new_scene().table(0.6, TABLE)


@pytest.mark.parametrize(("size", "camera"), [(0.03, "near"), (0.03, "far"), (0.05, "far"), (0.12, "far")])
def test_what_stands_there_rises_over_the_surface(table, size, camera):
    table.box((*BLOCK, TABLE + size / 2), (size, size, size), GREY)
    eye = (0.85, 0.05, 0.95) if camera == "near" else (0.05, 0.24, 1.38)
    spot = spot_in(table.view(eye=eye, target=(*BLOCK, TABLE)), *BLOCK, TABLE + 0.015, MOST)
    assert spot is not None
    assert spot.surface == pytest.approx(TABLE, abs=0.006)
    assert spot.rise == pytest.approx(size, abs=0.01)


@pytest.mark.parametrize("noise", [0.001, 0.003])
def test_nothing_stands_on_a_free_spot(table, noise):
    """Also beside something tall, and on a floor."""
    table.box((0.9, 0.2, TABLE + 0.1), (0.08, 0.08, 0.2), GREY)
    for x, y, height in ((*BLOCK, TABLE), (0.45, 0.1, 0.0)):
        spot = spot_in(table.view(noise=noise, target=(x, y, height)), x, y, height, MOST)
        assert spot is not None
        assert spot.rise == 0.0


def test_a_spot_that_no_pixel_shows_is_not_known(table):
    """Behind something tall, outside of the picture, and where the surface is at another height than was said."""
    view = table.box((0.7, 0.1, TABLE + 0.25), (0.05, 0.6, 0.5), GREY).view()
    assert spot_in(view, *BLOCK, TABLE, MOST) is None
    assert spot_in(view, -0.5, 0.0, 0.0, MOST) is None
    assert spot_in(view, 0.65, -0.4, TABLE + 0.1, MOST) is None
    blind = replace(view, depth=np.zeros_like(view.depth))
    assert spot_in(blind, 0.65, -0.4, TABLE, MOST) is None


def test_a_spot_of_which_less_than_half_is_seen_is_not_known_to_be_free(table):
    view = table.view(target=(*BLOCK, TABLE))
    half = replace(view, depth=np.where(view.points[..., 0] < BLOCK[0] - 0.01, view.depth, np.float32(0)))
    assert spot_in(view, *BLOCK, TABLE, MOST).rise == 0.0
    assert spot_in(half, *BLOCK, TABLE, MOST) is None


def test_what_is_seen_without_the_surface_around_it_is_not_known_to_stand_there(table):
    """A few pixels of the surface do not tell how high it is."""
    table.box((*BLOCK, TABLE + 0.05), (0.05, 0.05, 0.1), GREY)
    view = table.view(target=(*BLOCK, TABLE))
    corner = np.hypot(view.points[..., 0] - BLOCK[0] + 0.1, view.points[..., 1] - BLOCK[1]) < 0.015
    alone = replace(view, depth=np.where((view.heights > TABLE + 0.055) | corner, view.depth, np.float32(0)))
    assert spot_in(view, *BLOCK, TABLE, MOST).rise == pytest.approx(0.1, abs=0.01)
    assert spot_in(alone, *BLOCK, TABLE, MOST) is None


def test_what_hangs_over_the_surface_hides_the_spot_and_does_not_stand_there(table):
    """An arm, or the board of a shelf."""
    view = table.box((*BLOCK, TABLE + 0.75), (0.5, 0.5, 0.02), GREY).view(eye=(0.85, 0.05, 1.6), target=(*BLOCK, TABLE))
    assert spot_in(view, *BLOCK, TABLE, MOST) is None


@pytest.mark.parametrize("away", [0.02, 0.05, 0.1, 0.14])
def test_a_table_top_does_not_stand_on_the_floor_below_it(new_scene, away):
    """The floor is seen below a top that has no more than legs, from before it."""
    scene = new_scene().box((0.9, 0.0, TABLE - 0.015), (0.6, 1.0, 0.03), GREY)
    view = scene.view(target=(0.6, 0.0, 0.2))
    for x in (0.6 - away, 0.6 + away):
        spot = spot_in(view, x, 0.0, 0.0, MOST)
        assert spot is None or spot.rise == 0.0, (x, spot)


def test_the_robots_own_hand_does_not_stand_there(table):
    """Which the wrist camera sees between itself and the spot."""
    table.box((*BLOCK, TABLE + 0.14), (0.04, 0.04, 0.04), GREY)
    view = table.view(eye=(0.8, -0.1, 1.1), target=(*BLOCK, TABLE))
    taken = spot_in(view, *BLOCK, TABLE, MOST)
    assert taken is not None
    assert taken.rise > 0.1
    hand = np.array([[1, 0, 0, BLOCK[0]], [0, -1, 0, BLOCK[1]], [0, 0, -1, TABLE + 0.25], [0, 0, 0, 1.0]])
    free = spot_in(replace(view, tool_in_base=hand), *BLOCK, TABLE, MOST)
    assert free is None or free.rise == 0.0


def test_what_is_higher_than_what_hung_between_the_fingers_is_left_out(table):
    table.box((*BLOCK, TABLE + 0.2), (0.06, 0.06, 0.4), GREY)
    view = table.view(eye=(0.85, 0.05, 1.6), target=(*BLOCK, TABLE))
    assert spot_in(view, *BLOCK, TABLE, 0.5).rise == pytest.approx(0.4, abs=0.02)
    low = spot_in(view, *BLOCK, TABLE, MOST)
    assert low is None or low.rise < MOST
