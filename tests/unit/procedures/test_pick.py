"""Pick: the motions, what is repeated, and what it reports."""

import pytest

from support.played_robot import GRASP, pose

FIND = ["get_grasp_state", "get_topdown_grasp_pose"]
ABOVE = ["open_gripper", "plan_and_execute"]
CLOSE = ["plan_cartesian_path", "close_gripper"]
LIFT = ["plan_cartesian_path", "plan_and_execute", "get_grasp_state"]
TUCK = {"target_type": "named_state", "target": {"state_name": "folded"}}


def states(*names):
    return [{"state": name} for name in names]


def test_main_case_is_three_turns(run_pick, robot):
    size = [0.06, 0.06, 0.12]
    robot.say("get_topdown_grasp_pose", {**GRASP, "reachable": True, "object_size_m": size})
    played = run_pick()
    assert played.turns == [FIND, [*ABOVE, *CLOSE], LIFT]
    assert played.report == {
        "success": True,
        "error_code": "NONE",
        "reason": "'red can' is held and lifted",
    }
    assert [given for _, given in robot.calls] == [
        {},
        {"object_name": "red can"},
        {},
        {"target_type": "pose", "target": pose(0.5)},
        pose(0.3),
        {"object_size_m": size},
        pose(0.6),
        TUCK,
        {},
    ]


def test_arm_may_be_lower_where_it_cannot_be_high(run_pick, robot):
    robot.say("get_topdown_grasp_pose", {**GRASP, "pre_grasp_lower_by_m": 0.12, "lift_min_fraction": 0.4})
    run_pick()
    assert [given.get("lower_by_m") for given in robot.made("plan_and_execute")] == [0.12, None]
    assert [given.get("min_fraction") for given in robot.made("plan_cartesian_path")] == [None, 0.4]


def test_lift_goes_to_the_pre_grasp_pose_without_a_lift_pose(run_pick, robot):
    robot.say("get_topdown_grasp_pose", {**GRASP, "lift_pose": None})
    run_pick()
    assert robot.made("plan_cartesian_path")[-1] == pose(0.5)


# The second look.


@pytest.mark.parametrize(
    ("from_above", "down_to", "openings"),
    [
        ({}, 0.25, [{"position": 0.3}]),
        ({"open_position": 0.4}, 0.25, [{"position": 0.3}, {"position": 0.4}]),
        ({"open_position": None}, 0.25, [{"position": 0.3}, {}]),
        ({"ok": False, "error_code": "NO_OBJECTS_FOUND"}, 0.3, [{"position": 0.3}]),
        ({"reachable": False}, 0.3, [{"position": 0.3}]),
        ({"grasp_pose": None}, 0.3, [{"position": 0.3}]),
    ],
)
def test_uncertain_grasp_is_looked_at_from_above(run_pick, robot, from_above, down_to, openings):
    """Without a second pose the first one is used. Fingers that are open as wanted are not opened again."""
    first = {**GRASP, "reachable": True, "look_again": True, "open_position": 0.3}
    second = {**first, "pre_grasp_pose": pose(0.45), "grasp_pose": pose(0.25)}
    robot.say("get_topdown_grasp_pose", first, {**second, **from_above})
    played = run_pick(object_id="obj_1")
    assert played.report["success"]
    assert robot.made("get_topdown_grasp_pose") == [{"object_id": "obj_1"}, {"object_id": "obj_1", "camera": "arm"}]
    assert robot.made("open_gripper") == openings
    assert robot.made("plan_cartesian_path")[0] == pose(down_to)
    again = [] if down_to == 0.3 else [*["open_gripper"] * (len(openings) - 1), "plan_and_execute"]
    assert played.turns == [FIND, [*ABOVE, "get_topdown_grasp_pose"], [*again, *CLOSE], LIFT]
    assert robot.made("plan_and_execute")[-2]["target"] == pose(0.5 if down_to == 0.3 else 0.45)


def test_grasp_that_stays_too_uncertain_is_not_tried(run_pick, robot):
    nearer = {**GRASP, "too_uncertain": True, "message": "look from another side"}
    robot.say("get_topdown_grasp_pose", {**GRASP, "look_again": True}, nearer)
    played = run_pick()
    assert played.report["error_code"] == "PICK_PLAN_FAILED"
    assert "look from another side" in played.report["reason"]
    assert robot.made("plan_cartesian_path") == []
    assert robot.made("plan_and_execute")[-1] == TUCK


# Before the first motion.


@pytest.mark.parametrize(("attached", "said"), [({}, "something"), ({"attached_object": "blue_mug"}, "blue_mug")])
def test_full_gripper_is_reported_and_nothing_moves(run_pick, robot, attached, said):
    robot.say("get_grasp_state", {"state": "HOLDING", **attached})
    played = run_pick()
    assert (played.turns, played.report["error_code"]) == ([FIND], "PICK_HOLDING_ALREADY")
    assert said in played.report["reason"]


@pytest.mark.parametrize("state", ["MOVING", "UNKNOWN"])
def test_gripper_that_settles_is_read_again(run_pick, robot, state):
    robot.say("get_grasp_state", *states(state, state))
    assert run_pick().turns[:3] == [FIND, ["get_grasp_state"], ["get_grasp_state"]]


def test_fingers_of_which_only_the_camera_can_tell_are_lifted_and_checked(run_pick, robot):
    """Opened, they would let go what they hold; the agent's code looks at the end."""
    robot.say("close_gripper", {"state": "UNKNOWN", "effort_n": None})
    robot.say("get_grasp_state", *states("EMPTY", *["UNKNOWN"] * 5))
    played = run_pick()
    assert played.report["success"]
    assert len(robot.made("open_gripper")) == 1


@pytest.mark.parametrize("state", ["MOVING", "UNKNOWN"])
def test_gripper_in_an_unknown_state_moves_nothing(run_pick, robot, state):
    robot.say("get_grasp_state", *states(*[state] * 3))
    played = run_pick()
    assert (played.turns, played.report["error_code"]) == ([FIND, *[["get_grasp_state"]] * 2], "UNKNOWN")


def test_grasp_state_that_cannot_be_read_once_costs_one_more_look(run_pick, robot):
    robot.fail("get_grasp_state", "ROS_ERROR")
    played = run_pick()
    assert played.report["success"]
    assert played.turns[:2] == [FIND, FIND]


def test_front_camera_looks_where_no_grasp_pose_was_found(run_pick, robot):
    robot.fail("get_topdown_grasp_pose", "NO_OBJECTS_FOUND")
    assert run_pick().report["success"]
    asked = robot.made("get_topdown_grasp_pose")
    assert asked == [{"object_name": "red can"}, {"object_name": "red can", "camera": "front"}]


@pytest.mark.parametrize("code", ["NO_OBJECTS_FOUND", "CAMERA_UNAVAILABLE", "UNKNOWN_OBJECT", "TOO_FEW_POINTS"])
def test_object_that_no_camera_shows(run_pick, robot, code):
    robot.fail("get_topdown_grasp_pose", code, 2)
    played = run_pick()
    assert played.report["error_code"] == "PICK_SEG_MISSED"
    assert f"{code} happened" in played.report["reason"]
    assert played.turns == [FIND, ["get_topdown_grasp_pose"]]


def test_object_with_a_forgotten_id_is_asked_for_by_its_name(run_pick, robot):
    robot.forgetful = True
    assert run_pick(object_id="obj_1").report["success"]
    assert robot.made("get_topdown_grasp_pose") == [{"object_id": "obj_1"}, {"object_name": "red can"}]


def test_object_out_of_reach(run_pick, robot):
    robot.say("get_topdown_grasp_pose", {**GRASP, "reachable": False, "distance_m": 1.4})
    played = run_pick()
    assert (played.turns, played.report["error_code"]) == ([FIND], "PICK_REACH_EXCEEDED")
    assert "1.4" in played.report["reason"]


# The way to the object.


def test_gripper_that_does_not_open_never_goes_down(run_pick, robot):
    robot.fail("open_gripper", "GRIPPER_FAILED", 2)
    played = run_pick()
    assert played.report["error_code"] == "UNKNOWN"
    assert robot.made("plan_and_execute") == robot.made("plan_cartesian_path") == []


def test_pose_without_inverse_kinematics_is_out_of_reach(run_pick, robot):
    robot.fail("plan_and_execute", "OUT_OF_REACH")
    assert run_pick().report["error_code"] == "PICK_REACH_EXCEEDED"
    assert [given["target_type"] for given in robot.made("plan_and_execute")] == ["pose", "named_state"]


@pytest.mark.parametrize("tool", ["plan_and_execute", "plan_cartesian_path"])
@pytest.mark.parametrize(
    ("code", "cleared"), [("START_IN_COLLISION", 1), ("GOAL_IN_COLLISION", 1), ("PLANNING_FAILED", 0)]
)
def test_failed_motion_is_repeated_with_the_rest_of_its_turn(run_pick, robot, tool, code, cleared):
    """The scene is cleared only where it may be wrong: it also knows what no camera sees."""
    robot.fail(tool, code)
    played = run_pick()
    whole = [*ABOVE, *CLOSE]
    rest = whole[whole.index(tool) :]
    assert played.turns == [FIND, whole, *[["clear_planning_scene"]] * cleared, rest, LIFT]
    assert played.report["success"]


def test_barred_straight_path_is_not_repeated(run_pick, robot):
    robot.fail("plan_cartesian_path", "PATH_INCOMPLETE")
    assert run_pick().report["error_code"] == "PICK_PLAN_FAILED"
    assert len(robot.made("plan_cartesian_path")) == 1
    assert robot.made("clear_planning_scene") == []


@pytest.mark.parametrize("tool", ["plan_and_execute", "plan_cartesian_path"])
def test_arm_that_finds_no_plan_goes_to_transit(run_pick, robot, tool):
    robot.fail(tool, "PLANNING_FAILED", 2)
    assert run_pick().report["error_code"] == "PICK_PLAN_FAILED"
    assert robot.calls[-1][1] == TUCK
    assert robot.made("close_gripper") == []


def test_arm_that_reaches_neither_the_object_nor_transit_reports_both(run_pick, robot):
    robot.fail("plan_cartesian_path", "PATH_INCOMPLETE")
    robot.say("plan_and_execute", {}).fail("plan_and_execute", "PLANNING_FAILED", 2)
    report = run_pick().report
    assert report["error_code"] == "PICK_PLAN_FAILED"
    assert "PATH_INCOMPLETE happened" in report["reason"]
    assert "transit" in report["reason"]


def test_hand_that_was_stopped_goes_straight_up_and_is_not_pushed_again(run_pick, robot):
    robot.say("get_topdown_grasp_pose", {**GRASP, "lift_min_fraction": 0.4}).fail(
        "plan_cartesian_path", "EXECUTION_FAILED"
    )
    assert run_pick().report["error_code"] == "PICK_PLAN_FAILED"
    assert robot.made("plan_cartesian_path") == [pose(0.3), {**pose(0.5), "min_fraction": 0.4}]
    assert robot.calls[-1][1] == TUCK
    assert robot.made("close_gripper") == []


def test_arm_that_was_stopped_on_its_way_is_not_pushed_again(run_pick, robot):
    robot.fail("plan_and_execute", "EXECUTION_FAILED")
    assert run_pick().report["error_code"] == "PICK_PLAN_FAILED"
    assert [given["target_type"] for given in robot.made("plan_and_execute")] == ["pose", "named_state"]


# The grasp.


def test_fingers_that_still_move_are_read_again(run_pick, robot):
    robot.say("close_gripper", {"state": "MOVING"}).say("get_grasp_state", *states("EMPTY", "HOLDING", "HOLDING"))
    played = run_pick()
    assert played.turns == [FIND, [*ABOVE, *CLOSE], ["get_grasp_state"], LIFT]
    assert played.report["success"]


def test_failed_closing_is_repeated_and_judged_by_the_grasp_state(run_pick, robot):
    robot.fail("close_gripper", "GRIPPER_FAILED", 2).say("get_grasp_state", *states("EMPTY", "HOLDING", "HOLDING"))
    assert run_pick().report["success"]
    assert len(robot.made("close_gripper")) == 2


def test_fingers_that_close_on_nothing_try_once_more_from_above(run_pick, robot):
    robot.say("close_gripper", {"state": "EMPTY"})
    played = run_pick()
    again = [["open_gripper"], ["plan_cartesian_path"]]
    assert played.turns == [FIND, [*ABOVE, *CLOSE], *again, FIND, [*ABOVE, *CLOSE], LIFT]
    assert played.report["success"]


def test_fingers_that_close_on_nothing_twice(run_pick, robot):
    robot.say("close_gripper", *states("EMPTY", "EMPTY"))
    played = run_pick()
    assert played.report["error_code"] == "PICK_ATTACH_TIMEOUT"
    assert played.turns[-3:] == [["open_gripper"], ["plan_cartesian_path"], ["plan_and_execute"]]
    assert robot.calls[-1][1] == TUCK


def test_what_may_be_in_the_gripper_is_not_searched_for(run_pick, robot):
    """Fingers that do not open may hold the object."""
    robot.say("close_gripper", {"state": "MOVING"}).say("get_grasp_state", *states("EMPTY", "MOVING", "MOVING"))
    robot.say("open_gripper", {}).fail("open_gripper", "GRIPPER_FAILED", 2)
    report = run_pick().report
    assert report["error_code"] == "UNKNOWN"
    assert "may be in the gripper: GRIPPER_FAILED" in report["reason"]
    assert len(robot.made("get_topdown_grasp_pose")) == 1
    assert robot.calls[-1][1] == TUCK


# The lift.


def test_object_that_cannot_be_lifted_straight_is_lifted_by_a_planned_motion(run_pick, robot):
    robot.say("get_topdown_grasp_pose", {**GRASP, "pre_grasp_lower_by_m": 0.12})
    robot.say("plan_cartesian_path", {}).fail("plan_cartesian_path", "PATH_INCOMPLETE")
    played = run_pick()
    assert played.report["success"]
    assert played.turns[-2:] == [LIFT, ["plan_and_execute", "plan_and_execute", "get_grasp_state"]]
    assert robot.made("plan_and_execute")[1] == {"target_type": "pose", "target": pose(0.6), "lower_by_m": 0.12}


def test_object_that_cannot_be_lifted_is_not_swung_aside(run_pick, robot):
    robot.say("plan_cartesian_path", {}).fail("plan_cartesian_path", "PATH_INCOMPLETE")
    robot.say("plan_and_execute", {}).fail("plan_and_execute", "PLANNING_FAILED", 2)
    report = run_pick().report
    assert report["error_code"] == "PICK_PLAN_FAILED"
    assert "'red can' is held and could not be lifted" in report["reason"]
    assert TUCK not in robot.made("plan_and_execute")


def test_arm_that_does_not_tuck_reports_that_it_holds(run_pick, robot):
    robot.say("plan_and_execute", {}).fail("plan_and_execute", "PLANNING_FAILED", 2)
    report = run_pick().report
    assert report["error_code"] == "PICK_PLAN_FAILED"
    assert "'red can' is held and is lifted" in report["reason"]


def test_transit_that_was_stopped_is_repeated(run_pick, robot):
    """A base that drives with an arm that is not tucked does more harm than a second try."""
    robot.say("plan_and_execute", {}).fail("plan_and_execute", "EXECUTION_FAILED")
    played = run_pick()
    assert played.turns[-2:] == [LIFT, LIFT[1:]]
    assert played.report["success"]


def test_object_that_slips_on_the_way_up(run_pick, robot):
    robot.say("get_grasp_state", *states("EMPTY", "EMPTY"))
    assert run_pick().report["error_code"] == "PICK_ATTACH_TIMEOUT"
