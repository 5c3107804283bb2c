"""Things on the floor enter the costmap when a sensor sees them, and leave it when one sees that they are gone."""

import math

import pytest

from quartet_simulation.navigation.obstacle_layer import CAMERA_RANGE_M
from quartet_simulation.simulation import Simulation

CAN = "red coke can"


@pytest.fixture
def empty(studio):
    """The studio with the robot in the middle and the can out of the way."""
    studio.reset("studio", 0)
    studio.put_robot(-1.0, 0.0, 0.0)
    studio.place_object(CAN, -60.0, 0.0, 0.0)
    studio.clear_costmaps()
    return studio


def look(studio) -> bool:
    studio.step(0.02)
    studio._obstacles.look()
    return CAN in studio._costmap.marks


def test_what_stands_before_the_robot_is_marked_where_it_is(empty):
    empty.place_object(CAN, 0.2, 0.1, 0.0)
    assert look(empty)
    x, y, radius = empty._costmap.marks[CAN]
    # Localisation is up to 2 cm off also with `clean` sensors.
    assert (x, y) == pytest.approx((0.2, 0.1), abs=0.04)
    assert 0.03 < radius < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("yaw", [math.pi, math.pi / 2, -math.pi / 2])
def test_what_is_out_of_the_picture_is_not_known(empty, yaw):
    empty.place_object(CAN, 0.2, 0.1, 0.0)
    empty.put_robot(-1.0, 0.0, yaw)
    assert not look(empty)
    assert empty._physics.object_qpos[CAN] in empty._obstacles.unseen()
    empty.put_robot(-1.0, 0.0, 0.0)
    assert look(empty)
    # Once seen it is remembered.
    empty.put_robot(-1.0, 0.0, yaw)
    assert look(empty)
    assert empty._physics.object_qpos[CAN] not in empty._obstacles.unseen()


def test_what_is_farther_than_the_camera_is_told_to_look_is_not_known(empty):
    empty.put_robot(-1.6, 0.0, 0.0)
    x, *_ = empty._physics.data.cam_xpos[empty._physics.model.camera("front").id]
    empty.place_object(CAN, x + CAMERA_RANGE_M + 0.3, 0.0, 0.0)
    assert not look(empty)
    empty.place_object(CAN, x + CAMERA_RANGE_M - 0.6, 0.0, 0.0)
    assert look(empty)


def test_what_something_hides_is_not_known(empty):
    box = "green tea box"
    empty.place_object(CAN, 0.30, 0.0, 0.0)
    # The camera looks down from its mast; the box has not begun to fall.
    empty.place_object(box, 0.19, 0.0, 0.09, math.pi / 2)
    known = look(empty)
    empty.place_object(box, -60.0, 0.0, 0.0)
    assert (known, look(empty)) == (False, True)


def test_what_was_taken_stays_marked_until_its_place_is_seen_empty(empty):
    empty.place_object(CAN, 0.2, 0.1, 0.0)
    assert look(empty)
    empty.put_robot(-1.0, 0.0, math.pi)
    empty.place_object(CAN, -60.0, 0.0, 0.0)
    assert look(empty)
    empty.put_robot(-1.0, 0.0, 0.0)
    assert not look(empty)


def test_what_is_held_is_no_obstacle(studio):
    studio.reset("studio", 0)
    studio.place_object(CAN, *studio.truth()["robot"]["pose"][:2], 0.0)
    studio.reset("studio", 0, f"in_gripper:{CAN}")
    studio._costmap.mark({CAN: (0.0, 0.0, 0.04)})
    assert not look(studio)
    assert studio._physics.object_qpos[CAN] not in studio._obstacles.unseen()


def lost(studio, dx: float, dy: float) -> None:
    """Let localisation be off by this much from now on [m]."""
    found = studio._localisation
    studio._localisation.estimate = lambda time: (found._last[0] + dx, found._last[1] + dy, found._last[2])


def test_a_mark_is_where_localisation_puts_it(empty):
    empty.place_object(CAN, 0.2, 0.1, 0.0)
    lost(empty, 0.2, -0.3)
    assert look(empty)
    assert empty._costmap.marks[CAN][:2] == pytest.approx((0.4, -0.2), abs=0.03)
    # It stays there until it is seen elsewhere.
    empty.put_robot(-1.0, 0.0, math.pi)
    assert look(empty)
    assert empty._costmap.marks[CAN][:2] == pytest.approx((0.4, -0.2), abs=0.03)
    empty.put_robot(-1.0, 0.0, 0.0)
    lost(empty, 0.0, 0.0)
    assert look(empty)
    assert empty._costmap.marks[CAN][:2] == pytest.approx((0.2, 0.1), abs=0.03)


def test_a_place_is_seen_empty_where_the_robot_takes_it_to_be(empty):
    empty.place_object(CAN, 0.2, 0.1, 0.0)
    lost(empty, 0.0, 2.0)
    assert look(empty)
    empty.place_object(CAN, -60.0, 0.0, 0.0)
    assert not look(empty)


def test_a_goal_is_free_or_not_by_where_things_are_marked(empty):
    empty.place_object(CAN, 0.2, 0.1, 0.0)
    lost(empty, 0.0, -0.8)
    assert look(empty)
    assert empty._base.pose_is_free((0.2, 0.1, 0.0))
    assert not empty._base.pose_is_free((0.2, -0.7, 0.0))


@pytest.mark.slow
def test_marks_err_as_the_sensors_do():
    sim = Simulation("studio", 0, sensors="harsh")
    sim.put_robot(-1.0, 0.0, 0.0)
    lost(sim, 0.0, 0.0)
    errors = []
    for number in range(12):
        at = (0.2 + 0.05 * number, 0.1)
        sim.place_object(CAN, *at, 0.0)
        sim.clear_costmaps()
        assert look(sim)
        x, y, _ = sim._costmap.marks[CAN]
        errors.append((x - at[0], y - at[1]))
    sim.close()
    sizes = [math.hypot(*error) for error in errors]
    assert 0.003 < max(sizes) < 0.08
    # The camera is tilted alike for all of them.
    assert abs(sum(x for x, _ in errors)) > 0.5 * sum(abs(x) for x, _ in errors)


@pytest.mark.slow
def test_the_noise_of_a_mark_does_not_rebuild_the_map(empty):
    empty.place_object(CAN, 0.2, 0.1, 0.0)
    assert look(empty)
    before = empty._costmap.version
    for _ in range(20):
        assert look(empty)
    assert empty._costmap.version == before
