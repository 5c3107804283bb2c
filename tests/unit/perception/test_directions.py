"""Grasps and placements below a board: from which direction, and what is in the way."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quartet_contracts.tools import fingers
from quartet_perception import ColourShapeSegmenter, Footprint, estimate, on_surface, plan_grasp
from quartet_perception.approach_way import DOWN, ApproachWay, downward
from quartet_perception.errors import NoFreeSpaceError, NoWayError
from quartet_perception.grasp import Grasp, reach_of_pick
from quartet_perception.grasp_choice import choose_grasp
from quartet_perception.object_tracker import Grip
from quartet_perception.placing import Release
from quartet_perception.segmenters.base import SegmentedObject

TOP = 0.70
FAR = 0.85
WHITE = (0.9, 0.9, 0.9)
CAMERA = np.array([[1.0, 0, 0, 0], [0, 1, 0, -0.075], [0, 0, 1, 0.015], [0, 0, 0, 1]])


@pytest.fixture
def shelf(new_scene: Any) -> Any:
    """A shelf that begins 0.65 m before the robot, with a board so far above it [m], or without one."""

    def build(board: float | None) -> Any:
        scene = new_scene().box((0.85, 0.0, TOP - 0.02), (0.4, 1.2, 0.04), (0.56, 0.35, 0.18))
        for y in (-0.61, 0.61):
            scene.box((0.85, y, 0.6), (0.4, 0.02, 1.2), WHITE)
        return scene if board is None else scene.box((0.85, 0.0, TOP + board + 0.01), (0.4, 1.2, 0.02), WHITE)

    return build


@pytest.fixture
def see_can(catalogue: Any, colours: Any) -> Any:
    def see(scene: Any) -> Any:
        view = scene.cylinder((FAR, 0.0, TOP + 0.061), 0.066, 0.122, colours["red"]).view(target=(0.85, 0.0, 0.75))
        (found,) = ColourShapeSegmenter(catalogue).segment(view, ["coke can"])
        return view, estimate(view, found)

    return see


@pytest.mark.parametrize("direction", ["above", "inclined", "front"])
@pytest.mark.parametrize("turn", [0.0, np.pi])
def test_fingers_point_along_the_way_and_close_level(direction: Any, turn: float) -> None:
    way = ApproachWay(direction, 0.4)
    assert np.linalg.det(way.axes) == pytest.approx(1.0)
    assert fingers(way.quaternion(turn)) == pytest.approx(tuple(-way.axes[:, 2]))
    x, y, z, w = way.quaternion(turn)
    closes = (1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y))
    yaw = way.closing_yaw(turn)
    assert closes == pytest.approx((np.cos(yaw), np.sin(yaw), 0.0))


def test_a_way_straight_down_counts_from_the_x_axis() -> None:
    assert DOWN.quaternion(0.7) == downward(0.7)
    assert pytest.approx(np.eye(3)) == DOWN.axes


def hand_points(grasp: Grasp, robot: Any) -> np.ndarray:
    """Corners of the palm and of both fingers as they are at a grasp, base frame."""
    gripper = robot.gripper
    outer, pad, palm = gripper.stroke_m / 2 + gripper.finger_thickness_m, gripper.pad_width_m / 2, 0.032
    local = [(s * outer, t * pad, gripper.finger_offset_m) for s in (1, -1) for t in (1, -1)]
    local += [(s * outer, t * palm, z) for s in (1, -1) for t in (1, -1) for z in (0.0, 0.05)]
    x, y, z, w = grasp.quaternion
    turned = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return np.array(local) @ turned.T + (grasp.x, grasp.y, grasp.z)


@pytest.mark.parametrize("direction", ["inclined", "front"])
def test_a_hand_that_leans_has_the_object_between_its_pads_and_stays_over_the_shelf(
    shelf: Any, see_can: Any, robot: Any, direction: Any
) -> None:
    view, seen = see_can(shelf(0.36))
    grasp = plan_grasp(view, seen, robot, (), CAMERA, direction)
    assert (grasp.way.direction, grasp.room > 0) == (direction, True)
    # The line of the pads' middles, from the tips back, meets the axis of the can within its height.
    tip, back = grasp.tip(robot), grasp.way.axes[:, 2]
    off = np.hypot(*(tip[:2] - (FAR, 0.0)))
    assert off < 0.03
    assert TOP + 0.02 < tip[2] < TOP + 0.11
    assert off / max(np.hypot(*back[:2]), 1e-9) < 0.045, "the pads are about 0.045 m long"
    assert hand_points(grasp, robot)[:, 2].min() > TOP + 0.005
    assert hand_points(grasp, robot)[:, 2].max() < TOP + 0.36
    if direction == "inclined":
        return
    lens = np.array((grasp.x, grasp.y, grasp.z)) + CAMERA[1, 3] * _y_axis(grasp)
    assert lens[2] > grasp.z, "the wrist camera is on the upper side"


def _y_axis(grasp: Grasp) -> np.ndarray:
    x, y, z, w = grasp.quaternion
    return np.array([2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)])


def test_from_above_comes_first_where_it_is_free(shelf: Any, see_can: Any, robot: Any) -> None:
    view, seen = see_can(shelf(None))
    choice = choose_grasp(view, seen, robot, (), CAMERA)
    assert (choice.grasp.way.direction, choice.obstacle, choice.reachable) == ("above", "", True)
    assert choice.grasp == plan_grasp(view, seen, robot, (), CAMERA)
    assert choice.others == ["inclined", "front"]


def test_a_board_that_the_camera_sees_over_the_object_leads_to_another_direction(
    shelf: Any, see_can: Any, robot: Any
) -> None:
    view, seen = see_can(shelf(0.26))
    from_above = choose_grasp(view, seen, robot, (), CAMERA, "above")
    assert "in the way" in from_above.obstacle
    choice = choose_grasp(view, seen, robot, (), CAMERA)
    assert (choice.grasp.way.direction, choice.obstacle) != ("above", "")
    assert choice.reachable


def test_something_before_the_object_is_in_the_way_from_the_front(
    shelf: Any, see_can: Any, robot: Any, colours: Any
) -> None:
    free = choose_grasp(*see_can(shelf(0.36)), robot, (), CAMERA, "front")
    blocked = choose_grasp(
        *see_can(shelf(0.36).box((FAR - 0.14, 0.0, TOP + 0.03), (0.05, 0.3, 0.06), colours["blue"])),
        robot, (), CAMERA, "front",
    )  # fmt: skip
    assert (free.obstacle, free.reachable) == ("", True)
    assert blocked.obstacle
    assert not blocked.reachable


def test_an_object_beyond_the_reach_from_above_is_taken_by_a_hand_that_leans(
    shelf: Any, see_can: Any, robot: Any
) -> None:
    arm = robot.arm.model_copy(update={"reach_top_down_m": 0.80, "reach_floor_m": 0.80, "reach_front_m": None})
    near = robot.model_copy(update={"arm": arm})
    assert reach_of_pick(near, TOP) < FAR < reach_of_pick(near, TOP, "inclined") < reach_of_pick(near, TOP, "front")
    told = robot.model_copy(update={"arm": arm.model_copy(update={"reach_front_m": 1.1})})
    assert reach_of_pick(told, TOP, "front") == pytest.approx(1.08)
    choice = choose_grasp(*see_can(shelf(None)), near, (), CAMERA)
    assert (choice.grasp.way.direction, choice.reachable) == ("inclined", True)
    short = robot.model_copy(update={"arm": arm.model_copy(update={"reach_top_down_m": 0.5, "reach_floor_m": 0.5})})
    choice = choose_grasp(*see_can(shelf(None)), short, (), CAMERA)
    assert (choice.grasp.way.direction, choice.reachable, choice.others) == ("above", False, [])


def test_a_flat_object_is_not_grasped_from_the_front(shelf: Any, see_can: Any, robot: Any) -> None:
    view, seen = see_can(shelf(None))
    flat = replace(seen, top=seen.support + 0.015)
    with pytest.raises(NoWayError, match=r"0\.015 m"):
        plan_grasp(view, flat, robot, (), CAMERA, "front")


def whole_shelf(view: Any) -> SegmentedObject:
    mask = view.valid & (np.abs(view.points[..., 2] - TOP) < 0.006) & (np.abs(view.points[..., 1]) < 0.6)
    return SegmentedObject("shelf", 1.0, (0, 0, 1, 1), mask, support_z=TOP, free_kind="surface")


def test_an_object_is_put_below_a_board_as_it_was_taken_from_there(shelf: Any, see_can: Any, robot: Any) -> None:
    view, seen = see_can(shelf(0.36))
    grasp = plan_grasp(view, seen, robot, (), CAMERA, "inclined")
    empty = shelf(0.36).view(target=(0.85, 0.0, 0.75))
    release = Release.of(robot, seen.height, grasp.grip(seen), "inclined", wrist_camera=CAMERA)
    foot = Footprint(0.066, 0.066)
    drop = on_surface(empty, whole_shelf(empty), seen.height, robot, footprint=foot, release=release)
    assert 0.66 < drop.distance < 1.0
    # The object in the hand is where its underside comes to lie, a release's height above.
    before = np.array((seen.solid.x, seen.solid.y, seen.support)) - (grasp.x, grasp.y, grasp.z)
    after = np.array(drop.underside) - (drop.x, drop.y, drop.z)
    assert np.hypot(*after[:2]) == pytest.approx(np.hypot(*before[:2]))
    assert before[2] - after[2] == pytest.approx(robot.manipulation.surface_clearance_m, abs=1e-6)
    assert (drop.way.direction, drop.turn) == ("inclined", grasp.turn)
    assert drop.before_m > drop.distance - 0.66, "the hand begins before the edge"


def test_what_stands_before_a_spot_leaves_none_for_a_hand_that_leans(shelf: Any, robot: Any, colours: Any) -> None:
    release = Release.of(robot, 0.12, Grip("front", 0.0, 0.14, 0.06), "front")
    foot = Footprint(0.066, 0.066)
    row = shelf(0.36).box((0.68, 0.0, TOP + 0.02), (0.04, 1.1, 0.04), colours["blue"]).view(target=(0.85, 0.0, 0.75))
    with pytest.raises(NoFreeSpaceError):
        on_surface(row, whole_shelf(row), 0.12, robot, footprint=foot, release=release)
    empty = shelf(0.36).view(target=(0.85, 0.0, 0.75))
    assert on_surface(empty, whole_shelf(empty), 0.12, robot, footprint=foot, release=release).reachable


def test_a_hand_leans_over_the_middle_of_a_container(robot: Any) -> None:
    release = Release.of(robot, 0.12, None, "inclined", into=True, wrist_camera=CAMERA)
    drop = release.at((1.0, 0.2, 0.0), 0.34, height=0.34, centroid=(1.0, 0.2, 0.34), reach_m=1.2)
    tips = np.array((drop.x, drop.y, drop.z)) - robot.gripper.finger_offset_m * drop.way.axes[:, 2]
    assert tips[:2] == pytest.approx((1.0, 0.2))
    assert tips[2] > 0.34 + 0.12
    assert drop.turn == np.pi, "the wrist camera is on the upper side"


def test_a_tall_neighbour_is_not_over_an_object(shelf: Any, see_can: Any, robot: Any, colours: Any) -> None:
    beside = shelf(None).box((FAR, 0.065, TOP + 0.15), (0.05, 0.05, 0.30), colours["blue"])
    assert choose_grasp(*see_can(beside), robot, (), CAMERA).grasp.way.direction == "above"
