"""What is told of certainty follows from what a picture can know."""

from dataclasses import replace

import numpy as np
import pytest

from quartet_perception import ColourShapeSegmenter, estimate, plan_grasp
from quartet_perception.detection import describe
from quartet_perception.uncertainty import in_map
from quartet_site import CalibrationError

TABLE = 0.45
EXACT = CalibrationError(position_m=0.0, turn_rad=0.0)


@pytest.fixture(scope="module")
def segmenter(catalogue):
    return ColourShapeSegmenter(catalogue)


@pytest.fixture
def can_at(segmenter, new_scene, colours):
    """Return the view and the find of a can at `x` [m], of which a box before it may hide a part."""

    def make(x=0.85, *, hidden=False, error=EXACT, **more):
        scene = new_scene().table(0.6, TABLE).cylinder((x, 0.0, TABLE + 0.059), 0.066, 0.118, colours["red"])
        if hidden:
            scene = scene.box((x - 0.12, 0.062, TABLE + 0.1), (0.02, 0.05, 0.2), colours["blue"])
        view = replace(scene.view(**more), calibration_error=error)
        (found,) = segmenter.segment(view, ["coke can"])
        return view, found

    return make


def sd(view, found):
    """Return the standard deviation of the position of a grasp, of x and y together [m]."""
    return float(np.hypot(*estimate(view, found).uncertainty.position_sd[:2]))


@pytest.mark.slow
def test_the_farther_and_the_noisier_the_less_sure(can_at):
    near, far, noisy = sd(*can_at(0.7)), sd(*can_at(1.1)), sd(*can_at(0.7, noise=0.01))
    assert near < far
    assert near < noisy


def test_the_law_of_stereo_counts_where_the_points_happen_to_agree_better(can_at, monkeypatch):
    view, found = can_at(noise=0.0)
    before = sd(view, found)
    monkeypatch.setattr("quartet_perception.uncertainty.depth_noise", lambda _: 0.03)
    assert sd(view, found) > 1.5 * before


@pytest.mark.slow
def test_a_thing_of_which_a_part_is_hidden_is_less_sure(can_at):
    view, found = can_at(hidden=True)
    assert found.visible < 0.9
    assert sd(view, found) > 1.1 * sd(*can_at())
    variances = [sd(view, replace(found, visible=visible)) ** 2 for visible in (0.5, 1.0)]
    assert np.sqrt(variances[0] - variances[1]) == pytest.approx(np.sqrt(2) * 0.1 * 0.5 * 0.066, rel=0.05)


def test_a_size_that_was_guessed_makes_the_place_less_sure(can_at):
    view, found = can_at()
    assert found.entry is not None

    def with_error(size_error):
        appearance = found.entry.appearance.model_copy(update={"size_error": size_error})
        fitted = replace(found, entry=replace(found.entry, appearance=appearance), refined=True)
        return estimate(view, fitted).uncertainty

    measured, guessed = with_error(0.02), with_error(0.3)
    assert guessed.size[0, 0] > measured.size[0, 0]
    assert guessed.position_sd[0] > measured.position_sd[0]


def test_the_error_of_the_mounting_that_robot_yaml_states_counts_with_the_distance(can_at):
    view, found = can_at()
    solid = estimate(view, found).solid
    away = float(np.linalg.norm(solid.centre - view.origin))
    turned = replace(view, calibration_error=CalibrationError(position_m=0.0, turn_rad=0.02))
    effect = estimate(turned, found).uncertainty.mounting
    # Across the line of sight it is the angle times the distance, along it nothing.
    sight = (solid.centre - view.origin) / away
    covariance = (effect @ effect.T)[:3, :3]
    assert np.trace(covariance) == pytest.approx(2 * (0.02 * away) ** 2 / 3)
    assert sight @ covariance @ sight == pytest.approx(0.0, abs=1e-12)
    shifted = replace(view, calibration_error=CalibrationError(position_m=0.01, turn_rad=0.0))
    effect = estimate(shifted, found).uncertainty.mounting
    assert (effect @ effect.T)[:3, :3] == pytest.approx(np.eye(3) * 0.01**2 / 3)


def test_a_mounting_s_turn_about_the_vertical_turns_the_object_about_the_robot(can_at):
    """The effect on place and yaw is that of one turn: compared with a turn of the camera itself."""
    view, found = can_at()
    angle = 1e-3
    turned = replace(view, calibration_error=CalibrationError(position_m=0.0, turn_rad=angle * np.sqrt(3)))
    seen = estimate(turned, found)
    for axis in range(3):
        c, s = np.cos(angle), np.sin(angle)
        a, b = [k for k in range(3) if k != axis]
        turn = np.eye(4)
        turn[[a, b], [a, b]] = c
        turn[a, b], turn[b, a] = (s, -s) if axis == 1 else (-s, s)
        pose = view.base_from_camera @ turn
        local = np.linalg.inv(view.base_from_camera) @ [*seen.solid.centre, 1.0]
        moved = (pose @ local)[:3] - seen.solid.centre
        assert seen.uncertainty.mounting[:3, 3 + axis] == pytest.approx(moved, abs=1e-5)


def test_a_round_thing_has_no_yaw_and_a_box_has_one(segmenter, new_scene, colours, robot, can_at):
    view, found = can_at()
    assert plan_grasp(view, estimate(view, found), robot).uncertainty.yaw is None
    scene = new_scene().table(0.6, TABLE).box((0.85, 0.05, TABLE + 0.1), (0.15, 0.06, 0.2), colours["yellow"], 0.5)
    view = scene.view()
    (box,) = segmenter.segment(view, ["cereal box"])
    yaw = plan_grasp(view, estimate(view, box), robot).uncertainty.yaw
    assert yaw is not None
    assert 0.001 < yaw < 0.05


def test_a_grasp_is_sure_where_two_deviations_have_room(can_at, robot):
    view, found = can_at()
    grasp = plan_grasp(view, estimate(view, found), robot)
    assert grasp.sure
    assert grasp.needed_m == pytest.approx(2 * grasp.uncertainty.room)
    short = replace(grasp, room=grasp.needed_m - 0.001)
    assert short.uncertain
    assert not short.sure
    assert not replace(grasp, hidden=0.5).sure, "what is hidden may be taken"
    rough = replace(view, calibration_error=CalibrationError(position_m=0.05, turn_rad=0.0))
    assert plan_grasp(rough, estimate(rough, found), robot).uncertain, "the room is the same"


def test_a_grasp_is_too_uncertain_where_the_fingers_may_well_come_down_on_the_object(can_at, robot):
    view, found = can_at()
    grasp = plan_grasp(view, estimate(view, found), robot)
    assert not grasp.too_uncertain
    beside = (grasp.opening - grasp.width) / 2
    assert replace(grasp, uncertainty=replace(grasp.uncertainty, room=1.01 * beside)).too_uncertain
    assert not replace(grasp, room=-0.01).too_uncertain, "a neighbour is no reason: its place is known"


def test_the_arm_s_error_counts_unless_the_wrist_camera_saw_the_object_from_above(can_at, robot):
    far = robot.model_copy(update={"arm": robot.arm.model_copy(update={"tool_error_m": 0.05})})
    view, found = can_at()
    seen = estimate(view, found)
    assert plan_grasp(view, seen, far).uncertainty.between > 0.035
    above = replace(seen, camera="arm", range_m=0.3)
    assert plan_grasp(view, above, far).uncertainty.between < 0.01


def test_a_position_in_the_map_has_the_error_of_localisation_with_its_lever(can_at):
    view, found = can_at()
    here = replace(view, map_from_base=np.eye(4), localisation=np.diag([0.03**2, 0.01**2, 0.0]))
    told = describe(here, found)
    assert told.position_map_sd is not None
    assert told.position_base_sd is not None
    assert told.position_map_sd[:2] == pytest.approx(np.hypot(told.position_base_sd[:2], (0.03, 0.01)), abs=2e-4)
    turned = describe(replace(here, localisation=np.diag([0.0, 0.0, 0.1**2])), found)
    assert turned.position_map_sd is not None
    assert turned.position_map_sd[1] == pytest.approx(0.085, abs=0.005), "0.1 rad at 0.85 m, across"
    unknown = describe(replace(here, localisation=None), found)
    assert unknown.position_map_sd is not None
    assert unknown.position_map_sd[0] >= 0.05, "an assumption stands for it"
    nowhere = describe(view, found)
    assert (nowhere.position_map_sd, nowhere.position_base_sd) == (None, told.position_base_sd)


def test_the_axes_of_the_map_are_those_that_are_told(can_at):
    view, found = can_at()
    seen = estimate(view, found)
    quarter = np.eye(4)
    quarter[:2, :2] = [[0, -1], [1, 0]]
    told = in_map(seen.uncertainty, seen.solid.centre, quarter, np.zeros((3, 3)))
    x, y, z = seen.uncertainty.position_sd
    assert np.sqrt(np.diag(told)) == pytest.approx((y, x, z))
