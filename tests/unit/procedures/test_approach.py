"""Approach: where it drives, what it checks, and what it reports."""

import pytest

from support.played_robot import ENTRY, SPOT, STAND

MAIN = ["plan_and_execute", "navigate_to_pose", "look", "detect_objects"]


def checks(report):
    return [(one["name"], one["result"]) for one in report["checks"]]


def test_main_case_is_one_turn(run_approach, robot):
    played = run_approach()
    assert played.turns == [MAIN]
    assert [given for _, given in robot.calls] == [
        {"target_type": "named_state", "target": {"state_name": "folded"}},
        ENTRY,
        {"camera": "front"},
        {"names": ["red can"], "camera": "both"},
    ]
    assert (played.report["success"], played.report["error_code"]) == (True, "NONE")
    assert checks(played.report) == [("area", "PASS"), ("target", "PASS")]


def test_object_with_an_id_is_detected_by_it(run_approach, robot):
    assert run_approach(object_id="obj_1").report["success"]
    assert robot.made("detect_objects") == [{"object_ids": ["obj_1"], "camera": "both"}]


def test_object_with_a_forgotten_id_is_detected_by_its_name(run_approach, robot):
    robot.forgetful = True
    played = run_approach(object_id="obj_1")
    assert played.report["success"]
    assert played.turns == [MAIN, ["detect_objects"]]
    assert robot.made("detect_objects")[1] == {"names": ["red can"], "camera": "both"}


def test_place_is_seen_from_its_approach_pose(run_approach, robot):
    run_approach("the counter", next_action="surface_place")
    assert robot.made("navigate_to_pose") == [STAND]


def test_place_without_an_approach_pose_is_seen_from_the_entry(run_approach, robot):
    run_approach("bin", next_action="container_place")
    assert robot.made("navigate_to_pose") == [ENTRY]


def test_areas_are_known_by_their_aliases(run_approach):
    assert run_approach(target_area="Galley").report["success"]


def test_unknown_area_is_reported_with_the_known_ones_and_nothing_moves(run_approach):
    played = run_approach(target_area="garage")
    assert (played.turns, played.report["error_code"]) == ([], "NAV_AREA_WRONG")
    assert "kitchen, living room" in played.report["reason"]
    assert checks(played.report) == [("area", "FAIL")]


def test_place_in_another_area_is_reported_with_its_area(run_approach):
    played = run_approach("counter", target_area="living room", next_action="surface_place")
    assert (played.turns, played.report["error_code"]) == ([], "NAV_AREA_WRONG")
    assert "'kitchen counter' is in the kitchen" in played.report["reason"]


@pytest.mark.parametrize(
    ("object_name", "next_action"),
    [("floor", "floor_place"), ("parking", "floor_place"), ("kitchen", "floor_place"), ("red can", "look")],
)
def test_target_that_cannot_be_detected_is_skipped(run_approach, object_name, next_action):
    played = run_approach(object_name, next_action=next_action)
    assert played.turns == [MAIN[:-1]]
    assert checks(played.report) == [("area", "PASS"), ("target", "SKIP")]


def test_nothing_drives_before_the_arm_is_tucked(run_approach, robot):
    robot.fail("plan_and_execute", "PLANNING_FAILED", 2)
    played = run_approach()
    assert played.report["error_code"] == "NAV_PLAN_FAILED"
    assert "PLANNING_FAILED happened" in played.report["reason"]
    assert len(robot.made("plan_and_execute")) == 2
    assert robot.made("navigate_to_pose") == []


@pytest.mark.parametrize("code", ["PLANNING_FAILED", "EXECUTION_FAILED", "START_IN_COLLISION", "GOAL_IN_COLLISION"])
def test_failed_tuck_is_repeated_with_the_rest_of_the_turn(run_approach, robot, code):
    """An approach may not clear the planning scene: its grant does not cover the tool."""
    robot.fail("plan_and_execute", code)
    played = run_approach()
    assert played.turns == [MAIN, MAIN]
    assert played.report["success"]


def test_failed_drive_is_repeated_to_the_entry_with_clear_costmaps(run_approach, robot):
    robot.fail("navigate_to_pose", "NAVIGATION_FAILED")
    played = run_approach("counter", next_action="surface_place")
    assert played.turns == [MAIN, ["clear_costmaps"], MAIN[1:]]
    assert robot.made("navigate_to_pose") == [STAND, ENTRY]
    assert played.report["success"]


def test_parking_robot_drives_to_its_spot_again_and_not_into_the_way_of_others(run_approach, robot):
    robot.fail("navigate_to_pose", "NAVIGATION_FAILED")
    assert run_approach("parking", next_action="floor_place").report["success"]
    assert robot.made("navigate_to_pose") == [SPOT, SPOT]


def test_second_failed_drive_ends_the_approach(run_approach, robot):
    robot.fail("navigate_to_pose", "NAVIGATION_FAILED", 2)
    played = run_approach()
    assert played.report["error_code"] == "NAV_DRIVE_FAILED"
    assert "NAVIGATION_FAILED happened" in played.report["reason"]
    assert len(robot.made("navigate_to_pose")) == 2


def test_drive_of_unknown_outcome_is_not_repeated(run_approach, robot):
    robot.fail("navigate_to_pose", "TIMEOUT")
    played = run_approach()
    assert played.report["error_code"] == "UNKNOWN"
    assert "TIMEOUT" in played.report["reason"]
    assert played.turns == [MAIN]


@pytest.mark.parametrize("area", ["living room", None])
def test_robot_in_another_area_drives_again_and_then_reports_a_failed_drive(run_approach, robot, area):
    robot.area = area
    played = run_approach("counter", next_action="surface_place")
    assert played.turns == [MAIN, MAIN[1:]]
    assert robot.made("navigate_to_pose") == [STAND, ENTRY]
    assert played.report["error_code"] == "NAV_DRIVE_FAILED"
    assert (area or "no known area") in played.report["reason"]
    assert played.report["checks"] == [{"name": "area", "result": "FAIL", "note": played.report["reason"]}]


def test_robot_that_reaches_the_area_with_the_second_drive_succeeds(run_approach, robot):
    robot.say("look", {"area": "living room"})
    assert run_approach().report["success"]
    assert len(robot.made("navigate_to_pose")) == 2


def test_second_drive_that_fails_is_not_repeated(run_approach, robot):
    robot.say("look", {"area": "living room"}).say("navigate_to_pose", {}).fail("navigate_to_pose", "GOAL_REJECTED")
    played = run_approach()
    assert played.report["error_code"] == "NAV_DRIVE_FAILED"
    assert len(robot.made("navigate_to_pose")) == 2


def test_target_is_detected_without_a_picture_of_the_area(run_approach, robot):
    robot.fail("look", "CAMERA_UNAVAILABLE")
    played = run_approach()
    assert played.turns == [MAIN, ["detect_objects"]]
    assert played.report["success"]


@pytest.mark.parametrize(
    "seen",
    [
        {"detections": []},
        {"detections": [{"label": "red can", "in_gripper": True}]},
        {"ok": False, "error_code": "UNKNOWN_OBJECT", "message": "the catalogue has: blue mug"},
        {"ok": False, "error_code": "CAMERA_UNAVAILABLE", "message": "no picture"},
    ],
)
def test_target_out_of_view_is_reported_with_the_message_of_the_detection(run_approach, robot, seen):
    robot.say("detect_objects", seen)
    report = run_approach().report
    unknown = seen.get("error_code") == "UNKNOWN_OBJECT"
    assert report["error_code"] == ("UNKNOWN_NAME" if unknown else "NAV_TARGET_NOT_VISIBLE")
    assert checks(report) == [("area", "PASS"), ("target", "FAIL")]
    assert seen.get("message", "") in report["reason"]
