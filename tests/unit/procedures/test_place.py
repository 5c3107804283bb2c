"""Place: the motions, what is repeated, and what it reports."""

import pytest

from support.played_robot import DROP, pose

FIND = ["get_grasp_state", "get_topdown_placing_pose"]
PUT = [
    *("plan_and_execute", "plan_cartesian_path", "open_gripper", "plan_cartesian_path"),
    *("plan_and_execute", "get_grasp_state"),
]
TUCK = {"target_type": "named_state", "target": {"state_name": "folded"}}


def states(*names):
    return [{"state": name} for name in names]


def test_main_case_is_two_turns(run_place, robot):
    played = run_place()
    assert played.turns == [FIND, PUT]
    assert (played.report["success"], played.report["error_code"]) == (True, "NONE")
    assert [given for _, given in robot.calls] == [
        {},
        {"object_name": "kitchen counter", "held_object": "red can", "object_height_m": 0.1},
        {"target_type": "pose", "target": pose(0.7)},
        pose(0.5),
        {},
        pose(0.7),
        TUCK,
        {},
    ]


def test_hand_need_not_get_down_or_up_all_the_way(run_place, robot):
    room = {"pre_place_lower_by_m": 0.06, "lower_min_fraction": 0.9, "retract_min_fraction": 0.5}
    robot.say("get_topdown_placing_pose", {**DROP, **room})
    run_place()
    assert [given.get("lower_by_m") for given in robot.made("plan_and_execute")] == [0.06, None]
    assert [given.get("min_fraction") for given in robot.made("plan_cartesian_path")] == [0.9, 0.5]


@pytest.mark.parametrize(
    ("ids", "asked"),
    [
        ({"target_id": "obj_t"}, {"target_id": "obj_t"}),
        ({"held_id": "obj_h"}, {"held_id": "obj_h", "object_name": "kitchen counter"}),
        ({"target_id": "obj_t", "held_id": "obj_h"}, {"target_id": "obj_t", "held_id": "obj_h"}),
    ],
)
def test_ids_of_the_request_name_target_and_held_object(run_place, robot, ids, asked):
    assert run_place(**ids).report["success"]
    (given,) = robot.made("get_topdown_placing_pose")
    assert given == {**asked, "held_object": "red can", "object_height_m": 0.1}


def test_forgotten_ids_are_replaced_by_names(run_place, robot):
    robot.forgetful = True
    assert run_place(target_id="obj_t", held_id="obj_h").report["success"]
    by_name = {"object_name": "kitchen counter", "held_object": "red can", "object_height_m": 0.1}
    assert robot.made("get_topdown_placing_pose")[1:] == [by_name]


# Before the first motion.


def test_empty_gripper_is_reported_and_nothing_moves(run_place, robot):
    robot.held = False
    played = run_place()
    assert (played.turns, played.report["error_code"]) == ([FIND], "PLACE_HOLDING_NOTHING")


def test_gripper_that_moves_is_read_again(run_place, robot):
    robot.say("get_grasp_state", *states("MOVING"))
    assert run_place().turns[:2] == [FIND, ["get_grasp_state"]]


@pytest.mark.parametrize("code", ["NOT_A_PLACE", "UNKNOWN_OBJECT"])
def test_target_that_is_no_place_is_out_of_scope(run_place, robot, code):
    robot.fail("get_topdown_placing_pose", code)
    played = run_place()
    assert (played.turns, played.report["error_code"]) == ([FIND], "PLACE_OUT_OF_SCOPE")
    assert f"{code} happened" in played.report["reason"]


@pytest.mark.parametrize("code", ["NO_FREE_SPACE", "NO_OBJECTS_FOUND", "CAMERA_UNAVAILABLE"])
def test_target_without_a_placing_pose(run_place, robot, code):
    robot.fail("get_topdown_placing_pose", code)
    played = run_place()
    assert (played.turns, played.report["error_code"]) == ([FIND], "PLACE_SEG_MISSED")
    assert f"{code} happened" in played.report["reason"]


def test_server_that_does_not_answer_says_nothing_about_the_place(run_place, robot):
    robot.fail("get_topdown_placing_pose", "TIMEOUT", 2)
    played = run_place()
    assert played.report["error_code"] == "UNKNOWN"
    assert played.turns == [FIND, ["get_topdown_placing_pose"]]


def test_drop_pose_out_of_reach(run_place, robot):
    robot.say("get_topdown_placing_pose", {**DROP, "reachable": False, "distance_m": 1.2})
    played = run_place()
    assert (played.turns, played.report["error_code"]) == ([FIND], "PLACE_REACH_EXCEEDED")
    assert "1.2" in played.report["reason"]


# The way down.


@pytest.mark.parametrize("tool", ["plan_and_execute", "plan_cartesian_path"])
def test_arm_that_finds_no_plan_keeps_holding(run_place, robot, tool):
    robot.fail(tool, "PLANNING_FAILED", 2)
    assert run_place().report["error_code"] == "PLACE_PLAN_FAILED"
    assert robot.calls[-1][1] == TUCK
    assert robot.made("open_gripper") == []


def test_pose_without_inverse_kinematics_is_out_of_reach(run_place, robot):
    robot.fail("plan_and_execute", "OUT_OF_REACH")
    assert run_place().report["error_code"] == "PLACE_REACH_EXCEEDED"


def test_failed_descent_is_repeated_with_the_rest_of_its_turn(run_place, robot):
    robot.fail("plan_cartesian_path", "GOAL_IN_COLLISION")
    played = run_place()
    assert played.turns == [FIND, PUT, ["clear_planning_scene"], PUT[1:]]
    assert played.report["success"]


def test_hand_that_was_stopped_goes_straight_up_and_keeps_holding(run_place, robot):
    robot.say("get_topdown_placing_pose", {**DROP, "lower_min_fraction": 0.9, "retract_min_fraction": 0.5})
    robot.fail("plan_cartesian_path", "EXECUTION_FAILED")
    assert run_place().report["error_code"] == "PLACE_PLAN_FAILED"
    down, up = robot.made("plan_cartesian_path")
    assert (down, up) == ({**pose(0.5), "min_fraction": 0.9}, {**pose(0.7), "min_fraction": 0.5})
    assert robot.calls[-1][1] == TUCK
    assert robot.made("open_gripper") == []


# The release.


def test_failed_opening_is_repeated_with_the_rest_of_its_turn(run_place, robot):
    robot.fail("open_gripper", "GRIPPER_FAILED")
    played = run_place()
    assert played.turns == [FIND, PUT, PUT[2:]]
    assert played.report["success"]


def test_gripper_that_does_not_open_leaves_the_place_with_the_object(run_place, robot):
    robot.fail("open_gripper", "GRIPPER_FAILED", 2)
    played = run_place()
    assert played.turns == [FIND, PUT, PUT[2:], PUT[3:4], PUT[4:5], PUT[5:]]
    assert played.report["error_code"] == "PLACE_DROP_VERIFY_FAILED"
    assert "still in the gripper" in played.report["reason"]


def test_hand_that_cannot_leave_straight_leaves_by_a_planned_motion(run_place, robot):
    robot.say("get_topdown_placing_pose", {**DROP, "pre_place_lower_by_m": 0.06})
    robot.say("plan_cartesian_path", {}).fail("plan_cartesian_path", "PATH_INCOMPLETE")
    played = run_place()
    assert played.turns == [FIND, PUT, ["plan_and_execute"], PUT[4:5], PUT[5:]]
    assert robot.made("plan_and_execute")[1] == {"target_type": "pose", "target": pose(0.7), "lower_by_m": 0.06}
    assert played.report["success"]


@pytest.mark.parametrize("opens", [True, False])
def test_arm_that_does_not_tuck_reports_a_release_only_after_it(run_place, robot, opens):
    robot.fail("open_gripper", "SERVER_LOST", 0 if opens else 2)
    robot.say("plan_and_execute", {}).fail("plan_and_execute", "PLANNING_FAILED", 2)
    report = run_place().report
    assert report["error_code"] == "PLACE_PLAN_FAILED"
    assert ("was let go" in report["reason"]) is opens


def test_object_that_is_still_held_was_not_put_down(run_place, robot):
    robot.say("get_grasp_state", *states("HOLDING", "HOLDING"))
    report = run_place().report
    assert report["error_code"] == "PLACE_DROP_VERIFY_FAILED"
    assert "still in the gripper" in report["reason"]
