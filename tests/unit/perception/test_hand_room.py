"""What is taken around an object, and the room that the hand has there."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quartet_perception import ColourShapeSegmenter, estimate, plan_grasp
from quartet_perception.hand_room import ROOM_M, HandRoom
from quartet_perception.scene.occupied import occupied
from quartet_perception.scene.solids import Solid
from quartet_perception.tools.grasp import _is_from_above

TABLE = 0.45
CAN = Solid("cylinder", (0.066, 0.066, 0.118)).place(0.85, 0.0, TABLE)
LOW, HIGH = (TABLE + 0.03, TABLE + 0.09), (TABLE + 0.12, TABLE + 0.18)
ABOVE: Any = {"eye": (0.80, 0.0, 0.92), "target": (0.86, 0.0, TABLE), "camera": "arm"}
BESIDE_HAND = np.array([[1.0, 0, 0, 0], [0, 1, 0, -0.075], [0, 0, 1, 0.015], [0, 0, 0, 1]])


@pytest.fixture
def with_can(new_scene, colours):
    def scene() -> Any:
        return new_scene().table(0.6, TABLE).cylinder((0.85, 0.0, TABLE + 0.059), 0.066, 0.118, colours["red"])

    return scene


def taken_at(places: Any, *points: tuple[float, float]) -> list[bool]:
    return [bool(d == 0) for d in places.at(np.array(points))[0]]


def test_neighbours_are_taken_and_the_object_and_its_table_are_not(with_can, colours):
    view = with_can().box((0.85, 0.12, TABLE + 0.05), (0.06, 0.06, 0.10), colours["green"]).view()
    low, high = occupied([view], CAN, TABLE, [LOW, HIGH])
    assert taken_at(low, (0.85, 0.12), (0.85, 0.095)) == [True, True]
    assert taken_at(low, (0.85, 0.0), (0.85, 0.05), (0.80, -0.1), (0.70, 0.0)) == [False] * 4
    assert taken_at(high, (0.85, 0.12)) == [False], "the box ends below that slice"
    distance, _ = low.at(np.array([(0.85, 0.05)]))
    assert distance[0] == pytest.approx(0.04, abs=0.008)
    assert low.at(np.array([(9.0, 9.0)]))[0][0] > 0.1, "beyond the grid"


def test_what_the_object_hides_is_neither_taken_nor_seen(with_can):
    view = with_can().view()
    (low,) = occupied([view], CAN, TABLE, [LOW])
    behind, beside = np.array([(0.93, -0.02)]), np.array([(0.85, -0.08)])
    assert low.at(behind)[1][0] > 0.5
    assert low.at(beside)[1][0] == 0
    assert taken_at(low, (0.93, -0.02)) == [False]


def test_a_second_picture_shows_what_the_first_one_cannot(with_can, colours):
    scene = with_can().box((0.95, -0.03, TABLE + 0.05), (0.05, 0.05, 0.10), colours["green"])
    front, arm = scene.view(eye=(0.05, 0.24, 0.9), target=(0.85, 0.0, 0.5)), scene.view(**ABOVE)
    where = np.array([(0.94, -0.02)])
    (first,) = occupied([front], CAN, TABLE, [LOW])
    (both,) = occupied([arm, front], CAN, TABLE, [LOW])
    assert (first.at(where)[0][0] > 0, first.at(where)[1][0] > 0.5) == (True, True)
    assert taken_at(both, (0.94, -0.02)) == [True]
    # No depth from near: what the earlier picture showed still counts.
    scene = with_can().box((0.85, 0.10, TABLE + 0.05), (0.06, 0.06, 0.10), colours["green"])
    front, arm = scene.view(), scene.view(**ABOVE)
    blind = replace(arm, depth=np.where(arm.points[..., 1] > 0.06, 0, arm.depth).astype(np.float32))
    (alone,), (fused,) = occupied([blind], CAN, TABLE, [LOW]), occupied([blind, front], CAN, TABLE, [LOW])
    assert (taken_at(alone, (0.85, 0.10)), taken_at(fused, (0.85, 0.10))) == ([False], [True])


def test_a_place_that_the_newer_picture_looks_through_is_free(with_can, colours):
    """Something has been taken away since the first picture, or it is less deep than it was taken to be."""
    before = with_can().box((0.85, 0.12, TABLE + 0.05), (0.06, 0.06, 0.10), colours["green"]).view()
    (low,) = occupied([with_can().view(**ABOVE), before], CAN, TABLE, [LOW])
    assert taken_at(low, (0.85, 0.12)) == [False]


def test_the_robots_own_hand_is_no_neighbour(with_can, colours, robot):
    scene = with_can().box((0.85, 0.08, TABLE + 0.07), (0.02, 0.02, 0.14), colours["blue"])
    down = np.diag([1.0, -1.0, -1.0, 1.0])
    down[:3, 3] = 0.85, 0.0, TABLE + 0.2
    view = replace(scene.view(), tool_in_base=down)
    (low,) = occupied([view], CAN, TABLE, [LOW])
    assert taken_at(low, (0.85, 0.08)) == [False]
    assert taken_at(occupied([scene.view()], CAN, TABLE, [LOW])[0], (0.85, 0.08)) == [True]


def test_fingers_hand_and_camera_have_their_own_room(with_can, colours, robot, catalogue):
    segmenter = ColourShapeSegmenter(catalogue)

    def room_beside(height: float, y: float) -> HandRoom:
        scene = with_can()
        scene.box((0.85, y, TABLE + height / 2), (0.03, 0.03, height), colours["green"])
        view = scene.view(**ABOVE | {"eye": (0.78, -0.02, 1.05)})
        (found,) = segmenter.segment(scene.view(), ["coke can"])
        return HandRoom([view], estimate(view, found), TABLE + 0.05, robot.gripper, BESIDE_HAND)

    along_y, along_x = np.pi / 2, 0.0
    low = room_beside(0.10, 0.085)
    assert min(one[1] for one in list(low.openings(along_y, 0.066))[:1]) <= 0
    assert next(iter(low.openings(along_x, 0.066)))[1] > 0.02
    assert low.over(along_y) > ROOM_M
    # As tall as the hand, where the camera hangs at yaw 0 and not half a turn on.
    tall = room_beside(0.21, 0.085)
    assert tall.camera(along_x)[0] <= 0
    assert tall.camera(np.pi)[0] >= ROOM_M
    assert low.camera(along_x)[0] >= ROOM_M


def test_what_a_tall_neighbour_hides_is_no_room_for_the_camera(with_can, colours, robot, catalogue):
    """From a low pose the side of a carton is seen and not how deep it is: its far corner stopped the hand."""
    deep = with_can().box((0.90, 0.10, TABLE + 0.105), (0.20, 0.05, 0.21), colours["green"])
    (found,) = ColourShapeSegmenter(catalogue).segment(deep.view(), ["coke can"])
    seen = estimate(deep.view(), found)
    low, above = deep.view(eye=(0.35, 0.0, TABLE + 0.2), target=(0.85, 0.0, TABLE + 0.06)), deep.view(**ABOVE)
    hidden = HandRoom([low], seen, TABLE + 0.05, robot.gripper, BESIDE_HAND).camera(0.0)[1]
    assert hidden > 0.5
    free = HandRoom([low], seen, TABLE + 0.05, robot.gripper, BESIDE_HAND).camera(np.pi)
    assert free[0] >= ROOM_M
    room, hidden = HandRoom([above, low], seen, TABLE + 0.05, robot.gripper, BESIDE_HAND).camera(0.0)
    assert (room <= 0, hidden < 0.5) == (True, True)


@pytest.mark.parametrize("hidden", [{0: 0.8, 1: 0.0}, {0: 0.0, 1: 0.8}, {0: 0.8, 1: 0.8}])
def test_the_camera_goes_to_the_side_that_is_seen_and_a_grasp_is_not_sure_without_one(
    with_can, robot, catalogue, monkeypatch, hidden
):
    """hidden: how much of the camera's place is, at yaws of the first and the second half turn; both have room."""
    monkeypatch.setattr(HandRoom, "camera", lambda _, yaw: (0.1, hidden[int(yaw % (2 * np.pi) >= np.pi)]))
    scene = with_can()
    (found,) = ColourShapeSegmenter(catalogue).segment(scene.view(), ["coke can"])
    grasp = plan_grasp(scene.view(**ABOVE), estimate(scene.view(), found), robot, (), BESIDE_HAND)
    assert int(grasp.yaw >= np.pi) == (1 if hidden == {0: 0.8, 1: 0.0} else 0)
    assert (grasp.hidden >= 0.8, grasp.sure) == ((True, False) if min(hidden.values()) else (False, True))


@pytest.mark.parametrize(
    ("eye", "steep"), [((0.5, 0.0, 0.95), False), ((0.8, -0.05, 1.1), True), ((0.85, 0.0, 1.5), False)]
)
def test_a_look_from_above_is_near_and_steep(eye, steep):
    """From 0.4 m beside a low thing, what is behind its tall neighbour is hidden still."""
    assert _is_from_above(eye, (0.85, 0.0, 0.83)) == steep


def test_the_hand_turns_round_where_its_camera_would_meet_something(with_can, colours, robot, catalogue):
    scene = with_can().box((0.85, 0.085, TABLE + 0.105), (0.03, 0.03, 0.21), colours["green"])
    (found,) = ColourShapeSegmenter(catalogue).segment(scene.view(), ["coke can"])
    view = scene.view(**ABOVE | {"eye": (0.78, -0.02, 1.05)})
    seen = estimate(scene.view(), found)
    plain, turned = (plan_grasp(view, seen, robot, (), camera) for camera in (None, BESIDE_HAND))
    assert turned.room > 0
    c, s = np.cos(turned.yaw), np.sin(turned.yaw)
    camera = np.array((turned.x, turned.y)) - 0.075 * np.array((s, -c))
    assert np.hypot(*(camera - (0.85, 0.085))) > 0.06
    assert 0 <= plain.yaw < np.pi
