"""Grasp and placing poses from pictures of known geometry."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quartet_perception import (
    ColourShapeSegmenter,
    Footprint,
    SegmentedObject,
    estimate,
    into_container,
    on_floor,
    on_surface,
    placing,
    plan_grasp,
)
from quartet_perception.errors import NoFreeSpaceError, ObjectTooWideError, TooFewPointsError
from quartet_perception.estimate import still_there
from quartet_perception.grasp import downward, reach_of_pick
from quartet_perception.hand_room import camera_outline
from quartet_perception.scene.solids import Solid
from quartet_site import Gripper

TABLE = 0.45


@pytest.fixture(scope="module")
def segmenter(catalogue):
    return ColourShapeSegmenter(catalogue)


def grasp_of(segmenter, view, robot, name):
    (found,) = segmenter.segment(view, [name])
    seen = estimate(view, found)
    return seen, plan_grasp(view, seen, robot)


def turn_between(a: float, b: float) -> float:
    return abs((a - b + np.pi / 2) % np.pi - np.pi / 2)


@pytest.mark.slow
@pytest.mark.parametrize("yaw", [0.0, 0.5, 1.2, 2.3])
def test_fingers_close_across_the_short_side_of_a_box(segmenter, new_scene, colours, robot, yaw):
    view = (
        new_scene().table(0.6, TABLE).box((0.85, 0.05, TABLE + 0.1), (0.15, 0.06, 0.2), colours["yellow"], yaw).view()
    )
    seen, grasp = grasp_of(segmenter, view, robot, "cereal box")
    assert grasp.oriented
    assert turn_between(grasp.yaw, yaw + np.pi / 2) < 0.08
    assert grasp.width == pytest.approx(0.06, abs=0.012)
    assert np.hypot(grasp.x - 0.85, grasp.y - 0.05) < 0.004
    assert seen.height == pytest.approx(0.2, abs=0.006)


def test_the_centre_of_a_can_is_behind_what_is_seen(segmenter, new_scene, colours, robot):
    for seed, (x, y) in enumerate([(0.75, -0.2), (0.85, 0.0), (0.95, 0.25)]):
        view = (
            new_scene().table(0.6, TABLE).cylinder((x, y, TABLE + 0.059), 0.066, 0.118, colours["red"]).view(seed=seed)
        )
        seen, grasp = grasp_of(segmenter, view, robot, "coke can")
        assert np.hypot(grasp.x - x, grasp.y - y) < 0.003
        assert not grasp.oriented
        assert seen.height == pytest.approx(0.118, abs=0.004)
        assert TABLE + 0.02 < grasp.tip_z < TABLE + 0.118 - 0.04
        assert grasp.z == pytest.approx(grasp.tip_z + robot.gripper.finger_offset_m)


def test_fingers_turn_away_from_a_neighbour(segmenter, new_scene, colours, robot):
    scene = new_scene().table(0.6, TABLE).cylinder((0.85, 0.0, TABLE + 0.059), 0.066, 0.118, colours["red"])
    alone = grasp_of(segmenter, scene.view(), robot, "coke can")[1]
    scene.box((0.85, 0.075, TABLE + 0.06), (0.05, 0.04, 0.12), colours["green"])
    scene.box((0.85, -0.075, TABLE + 0.06), (0.05, 0.04, 0.12), colours["green"])
    crowded = grasp_of(segmenter, scene.view(), robot, "coke can")[1]
    assert turn_between(alone.yaw, np.pi / 2) < 0.2
    assert turn_between(crowded.yaw, np.pi / 2) > 0.6
    assert crowded.room > 0.005
    assert (alone.opening, alone.room) == (robot.gripper.stroke_m, pytest.approx(0.037, abs=0.004))


def test_fingers_that_cannot_turn_away_open_less(segmenter, new_scene, colours, robot):
    """A long box is gripped across its short side only, between what stands along both of its long sides."""
    scene = new_scene().table(0.6, TABLE).box((0.85, 0.0, TABLE + 0.1), (0.15, 0.06, 0.2), colours["yellow"])
    alone = grasp_of(segmenter, scene.view(), robot, "cereal box")[1]
    for side in (1, -1):
        scene.box((0.85, side * 0.083, TABLE + 0.08), (0.15, 0.03, 0.16), colours["green"])
    between = grasp_of(segmenter, scene.view(), robot, "cereal box")[1]
    assert (alone.opening, between.oriented) == (robot.gripper.stroke_m, True)
    outer = between.opening / 2 + robot.gripper.finger_thickness_m
    assert between.width < between.opening
    assert outer < 0.068, "a finger would come down on the neighbour"
    assert not between.sure


def test_a_neighbour_behind_another_thing_is_taken_to_have_a_body(segmenter, new_scene, colours, robot):
    """The camera sees its front alone; the fingers keep off what must be behind it."""
    scene = new_scene().table(0.6, TABLE).cylinder((0.85, 0.0, TABLE + 0.059), 0.066, 0.118, colours["red"])
    scene.box((0.85, 0.1, TABLE + 0.08), (0.08, 0.08, 0.16), colours["green"])
    _, grasp = grasp_of(segmenter, scene.view(), robot, "coke can")
    axis = np.array([np.cos(grasp.yaw), np.sin(grasp.yaw)])
    for side in (1, -1):
        for out in np.linspace(grasp.width / 2, grasp.opening / 2 + robot.gripper.finger_thickness_m, 8):
            finger = np.array((grasp.x, grasp.y)) + side * out * axis
            assert max(abs(finger[0] - 0.85) - 0.04, abs(finger[1] - 0.1) - 0.04) > 0, "a finger within the box"


def test_what_the_picture_does_not_show_makes_a_grasp_unsure(segmenter, new_scene, colours, robot):
    """Behind a tall box anything may stand: the fingers' way down beside it is not seen."""
    scene = new_scene().table(0.6, TABLE).cylinder((0.85, 0.0, TABLE + 0.059), 0.066, 0.118, colours["red"])
    alone = grasp_of(segmenter, scene.view(), robot, "coke can")[1]
    assert alone.sure
    # From low, with something before one half of it; its own far side is hidden as well.
    scene.box((0.70, 0.075, TABLE + 0.08), (0.06, 0.12, 0.16), colours["green"])
    low = scene.view(eye=(0.05, 0.1, 0.75), target=(0.85, 0.0, 0.5))
    half_hidden = grasp_of(segmenter, low, robot, "coke can")[1]
    assert half_hidden.hidden > 0.25
    assert not half_hidden.sure


def test_what_was_seen_is_looked_for_by_its_depth_alone(segmenter, new_scene, colours, robot):
    """From above another colour shows; another place, or nothing, is told apart."""

    def scene(x: float, colour: str) -> Any:
        return new_scene().table(0.6, TABLE).cylinder((x, 0.0, TABLE + 0.059), 0.066, 0.118, colours[colour])

    seen, _ = grasp_of(segmenter, scene(0.85, "red").view(), robot, "coke can")
    above: Any = {"eye": (0.80, 0.0, 0.85), "target": (0.86, 0.0, TABLE)}
    assert still_there(scene(0.85, "green").view(**above), seen)
    assert not still_there(scene(0.95, "red").view(**above), seen)
    assert not still_there(new_scene().table(0.6, TABLE).view(**above), seen)
    assert not still_there(scene(0.85, "red").view(eye=(0.8, 0.0, 0.85), target=(0.8, 0.9, 0.8)), seen), "out of view"


def test_flat_things_are_gripped_above_the_table(segmenter, new_scene, colours, robot):
    view = (
        new_scene().table(0.6, TABLE).box((0.8, 0.0, TABLE + 0.0175), (0.17, 0.11, 0.035), colours["blue"], 0.4).view()
    )
    _, grasp = grasp_of(segmenter, view, robot, "book")
    assert TABLE + 0.006 < grasp.tip_z < TABLE + 0.015
    assert grasp.width == pytest.approx(0.11, abs=0.012)


@pytest.mark.parametrize("height", [0.0, 0.01, 0.02, 0.06, 0.12, 0.3])
def test_grasp_depth_never_reaches_the_table(height):
    assert 0 <= Gripper().grasp_depth(height) <= max(height - 0.008, 0)


def test_the_depth_of_a_grasp_is_the_grippers():
    short = Gripper(grasp_depth_m=0.03, tip_below_middle_m=0.005, tip_clearance_m=0.02)
    assert [short.grasp_depth(height) for height in (0.3, 0.04, 0.03)] == pytest.approx([0.03, 0.02, 0.01])


@pytest.mark.parametrize("factor", [0.93, 1.07])
def test_a_size_that_is_off_in_the_catalogue_is_measured(segmenter, catalogue, new_scene, colours, robot, factor):
    width, _, height = (factor * s for s in catalogue.match("red coke can")[0].appearance.size_m)
    scene = new_scene().table(0.6, TABLE).cylinder((0.85, 0.0, TABLE + height / 2), width, height, colours["red"])
    seen, _ = grasp_of(segmenter, scene.view(), robot, "red coke can")
    assert seen.solid.solid.size[0] == pytest.approx(width, abs=0.0022)
    assert np.hypot(seen.solid.x - 0.85, seen.solid.y) < 0.0022


def test_what_is_wider_than_the_fingers_open_is_refused(segmenter, new_scene, colours, robot):
    view = new_scene().table(0.6, TABLE).box((0.85, 0.0, TABLE + 0.1), (0.15, 0.06, 0.2), colours["yellow"]).view()
    (found,) = segmenter.segment(view, ["cereal box"])
    wide = SegmentedObject(
        "crate",
        1.0,
        found.box_xyxy,
        found.mask,
        solid=Solid("box", (0.2, 0.19, 0.2)).place(0.85, 0, TABLE),
        support_z=TABLE,
    )
    with pytest.raises(ObjectTooWideError, match=r"0.190 m wide, the fingers open 0.140 m"):
        plan_grasp(view, estimate(view, wide), robot)


def test_too_few_points_say_so(segmenter, new_scene, colours):
    view = new_scene().table(0.6, TABLE).sphere((0.85, 0.0, TABLE + 0.037), 0.074, colours["red"]).view()
    (found,) = segmenter.segment(view, ["apple"])
    view.valid[found.mask] = False
    with pytest.raises(TooFewPointsError, match="only 0 of its pixels have depth"):
        estimate(view, found)


def test_points_alone_give_a_box_too(segmenter, new_scene, colours, robot):
    view = (
        new_scene().table(0.6, TABLE).box((0.85, 0.0, TABLE + 0.0275), (0.055, 0.055, 0.055), colours["green"]).view()
    )
    (found,) = segmenter.segment(view, ["block"])
    seen = estimate(view, SegmentedObject("block", 1.0, found.box_xyxy, found.mask, support_z=TABLE))
    assert np.hypot(seen.solid.x - 0.85, seen.solid.y) < 0.012
    assert seen.height == pytest.approx(0.055, abs=0.006)


def test_downward_points_down():
    for yaw in (0.0, 0.7, 2.0):
        x, y, z, w = downward(yaw)
        assert x * x + y * y + z * z + w * w == pytest.approx(1)
        tool_z = np.array([2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)])
        tool_x = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)])
        np.testing.assert_allclose(tool_z, (0, 0, -1), atol=1e-12)
        np.testing.assert_allclose(tool_x, (np.cos(yaw), np.sin(yaw), 0), atol=1e-12)


def test_reach_falls_from_the_floor_to_the_table(robot):
    assert reach_of_pick(robot, 0.0) == robot.arm.reach_floor_m
    assert reach_of_pick(robot, 0.9) == robot.arm.reach_top_down_m


# --- placing ----------------------------------------------------------------------------------------------
def test_a_drop_on_a_table_is_inside_its_near_edge(segmenter, new_scene, robot):
    view = new_scene().table(0.6, TABLE).view()
    (found,) = segmenter.segment(view, ["table"])
    drop = on_surface(view, found, 0.12, robot)
    assert drop.height == pytest.approx(TABLE, abs=0.006)
    assert drop.underside[2] == pytest.approx(TABLE, abs=0.003)
    assert drop.x == pytest.approx(0.6 + robot.manipulation.edge_inset_m, abs=0.04)
    assert abs(drop.y) < 0.15
    assert drop.reachable
    held = robot.gripper.finger_offset_m + 0.12 - robot.gripper.grasp_depth(0.12)
    assert drop.z == pytest.approx(TABLE + held + robot.manipulation.surface_clearance_m, abs=0.003)


def test_a_drop_keeps_clear_of_what_stands_there(segmenter, new_scene, colours, robot):
    scene = new_scene().table(0.6, TABLE)
    (empty,) = segmenter.segment(scene.view(), ["table"])
    usual = on_surface(scene.view(), empty, 0.12, robot)
    scene.cylinder((usual.x, usual.y, TABLE + 0.06), 0.07, 0.12, colours["red"])
    view = scene.view()
    (found,) = segmenter.segment(view, ["table"])
    drop = on_surface(view, found, 0.12, robot)
    assert np.hypot(drop.x - usual.x, drop.y - usual.y) > 0.1
    with pytest.raises(NoFreeSpaceError):
        on_surface(view, found, 0.12, robot, crop_radius_m=0.03)


def noisy_top(scene):
    """A picture with the depth noise of a stereo camera, and the top as what is within 12 mm of where it is."""
    clean, view = scene.view(noise=0.0), scene.view(noise=0.005, patches=1.5)
    top = whole_top(clean)
    return view, replace(top, mask=top.mask & (np.abs(view.points[..., 2] - TABLE) < 0.012))


def test_specks_of_noise_are_nothing_that_stands_there(new_scene, colours, robot):
    """A round table with cans on one half of it was full, since here and there a patch rose by 12 mm."""
    scene = new_scene().box((0.9, 0.0, TABLE - 0.02), (0.57, 0.57, 0.04), (0.56, 0.35, 0.18))
    for y in (0.10, 0.20):
        scene.cylinder((0.9, y, TABLE + 0.06), 0.066, 0.12, colours["red"])
    drop = on_surface(*noisy_top(scene), 0.15, robot, footprint=Footprint(0.10, 0.10))
    assert min(np.hypot(drop.x - 0.9, drop.y - y) for y in (0.10, 0.20)) > 0.033 + 0.05


def test_what_is_thin_and_no_speck_still_lies_there(new_scene, colours, robot, monkeypatch):
    """However little it rises above the noise."""
    monkeypatch.setattr(placing, "_SPECK_SIGMA", np.inf)
    scene = new_scene().box((0.9, 0.0, TABLE - 0.02), (0.57, 0.57, 0.04), (0.56, 0.35, 0.18))
    usual = on_surface(*noisy_top(scene), 0.06, robot)
    scene.box((usual.x, usual.y, TABLE + 0.0115), (0.05, 0.17, 0.023), colours["blue"])
    drop = on_surface(*noisy_top(scene), 0.06, robot)
    assert np.hypot(drop.x - usual.x, drop.y - usual.y) > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("size", [0.24, 0.28, 0.32])
def test_a_drop_on_a_small_surface_leaves_room_for_another_thing(segmenter, new_scene, colours, robot, size):
    """Two things are to stand on a nightstand; in the middle, one alone would fill it."""
    scene = new_scene().box((0.8, 0.0, TABLE - 0.02), (size, size, 0.04), (0.56, 0.35, 0.18))
    first = on_surface(scene.view(), whole_top(scene.view()), 0.12, robot, footprint=Footprint(0.066, 0.066))
    scene.cylinder((first.x, first.y, TABLE + 0.06), 0.066, 0.12, colours["red"])
    second = on_surface(scene.view(), whole_top(scene.view()), 0.12, robot, footprint=Footprint(0.066, 0.066))
    assert np.hypot(second.x - first.x, second.y - first.y) > 0.066 + 0.015
    for drop in (first, second):
        assert max(abs(drop.x - 0.8), abs(drop.y)) < size / 2 - 0.033


@pytest.mark.parametrize(("depth", "turned"), [(0.30, False), (0.24, True)])
def test_a_book_is_turned_where_its_long_side_does_not_fit(new_scene, robot, depth, turned):
    """The fingers hold it by its short side; closing across the line of sight, they lay it away from the robot."""
    scene = new_scene().box((0.7 + depth / 2, 0.0, TABLE - 0.02), (depth, 0.4, 0.04), (0.56, 0.35, 0.18))
    if turned:
        scene.box((0.7 + depth - 0.03, 0.0, TABLE + 0.05), (0.05, 0.4, 0.1), (0.2, 0.55, 0.2))
    drop = on_surface(scene.view(), whole_top(scene.view()), 0.035, robot, footprint=Footprint(0.11, 0.17))
    across = abs(np.cos(drop.yaw - np.arctan2(drop.y, drop.x)))
    assert across == pytest.approx(1.0 if turned else 0.0, abs=0.1)
    assert 0.7 + (0.055 if turned else 0.085) < drop.x < 0.7 + depth


@pytest.mark.parametrize("tall", [0.05, 0.25])
def test_the_wrist_camera_hangs_where_nothing_tall_stands(new_scene, colours, robot, tall):
    """Over low things it may hang: it is as high as the hand."""
    camera = np.eye(4)
    camera[:3, 3] = (0.0, 0.09, 0.03)
    scene = new_scene().box((0.82, 0.0, TABLE - 0.02), (0.24, 0.5, 0.04), (0.56, 0.35, 0.18))
    scene.box((0.84, 0.0, TABLE + tall / 2), (0.03, 0.5, tall), colours["green"])
    view = scene.view(eye=(0.05, 0.24, 1.6))
    drop = on_surface(view, whole_top(view), 0.06, robot, footprint=Footprint(0.05, 0.05), wrist_camera=camera)
    lens = camera_outline(camera, drop.yaw) + np.array((drop.x, drop.y))
    assert (np.abs(lens[:, 0] - 0.84) < 0.015).any() == (tall == 0.05)


def whole_top(view):
    """Return the top of a nightstand that is too small to be the catalogue's table."""
    top = np.abs(view.points[..., 2] - TABLE) < 0.01
    return SegmentedObject("nightstand", 1.0, (0, 0, 1, 1), top & view.valid, support_z=TABLE, free_kind="surface")


def test_a_full_table_has_no_free_space(segmenter, new_scene, colours, robot):
    scene = new_scene().table(0.6, TABLE)
    for x in np.arange(0.68, 1.2, 0.17):
        for y in np.arange(-0.42, 0.45, 0.17):
            scene.cylinder((x, y, TABLE + 0.05), 0.06, 0.1, colours["green"])
    view = scene.view()
    (found,) = segmenter.segment(view, ["table"])
    with pytest.raises(NoFreeSpaceError, match="no free spot"):
        on_surface(view, found, 0.12, robot)


def test_a_far_table_is_beyond_reach(segmenter, new_scene, robot):
    view = new_scene().table(1.4, TABLE).view(target=(1.6, 0.0, 0.4))
    (found,) = segmenter.segment(view, ["table"])
    drop = on_surface(view, found, 0.12, robot)
    assert drop.distance > 1.4
    assert not drop.reachable


def test_a_drop_into_a_bin_is_over_its_middle(segmenter, new_scene, colours, robot):
    scene = new_scene().box((0.9, 0.0, 0.005), (0.3, 0.3, 0.01), colours["blue"])
    for x, y, sx, sy in (
        (0.755, 0, 0.01, 0.3),
        (1.045, 0, 0.01, 0.3),
        (0.9, 0.145, 0.3, 0.01),
        (0.9, -0.145, 0.3, 0.01),
    ):
        scene.box((x, y, 0.15), (sx, sy, 0.3), colours["blue"])
    view = scene.view(target=(0.9, 0.0, 0.2))
    (found,) = segmenter.segment(view, ["bin"])
    drop = into_container(view, found, 0.12, robot)
    assert np.hypot(drop.x - 0.9, drop.y) < 0.02
    assert drop.height == pytest.approx(0.3, abs=0.01)
    assert drop.z == pytest.approx(0.3 + robot.manipulation.container_clearance_m, abs=0.01)


def test_the_floor_needs_no_target(new_scene, robot):
    drop = on_floor(new_scene().view(), 0.12, robot)
    m = robot.manipulation
    assert (drop.x, drop.y, drop.underside[2]) == (m.floor_drop_x_m, m.floor_drop_y_m, 0.0)
    assert drop.z == pytest.approx(robot.hanging_m(0.12) + m.floor_drop_clearance_m)
    assert drop.note == ""


def test_the_floor_spot_moves_aside_when_taken(new_scene, colours, robot):
    m = robot.manipulation
    eye = {"eye": (0.2, 0.0, 1.4), "target": (0.7, 0.0, 0.0)}
    taken = new_scene().box((m.floor_drop_x_m, 0.0, 0.06), (0.1, 0.1, 0.12), colours["red"])
    drop = on_floor(taken.view(**eye), 0.12, robot)
    assert np.hypot(drop.x - m.floor_drop_x_m, drop.y) > 0.1
    assert "moved" in drop.note
    full = new_scene()
    for x in np.arange(0.3, 1.3, 0.08):
        for y in np.arange(-0.5, 0.55, 0.08):
            full.box((x, y, 0.05), (0.03, 0.03, 0.1), colours["red"])
    with pytest.raises(NoFreeSpaceError, match="turn or back up"):
        on_floor(full.view(**eye), 0.12, robot)
