"""The sub-agents' policies against a robot that answers as the tools do, each failure one by one."""

from collections import defaultdict

import pytest

ENTRY = {"x": 1.0, "y": 2.0, "yaw": 0.5}
STAND = {"x": 4.0, "y": 5.0, "yaw": -1.0}
SPOT = {"x": 7.0, "y": 6.0, "yaw": 0.0}
FACTS = {
    "areas": [
        {"name": "kitchen", "aliases": ["galley"], "entry": ENTRY, "landmarks": ["oven"], "parking": [SPOT]},
        {"name": "living room", "aliases": [], "entry": {"x": 9.0, "y": 9.0, "yaw": 0.0}, "landmarks": []},
    ],
    "places": [
        {"name": "kitchen counter", "aliases": ["counter"], "area": "kitchen", "kind": "surface", "approach": STAND},
        {"name": "bin", "aliases": [], "area": "kitchen", "kind": "container", "approach": None},
    ],
    "arm": {"group": "left_arm", "transit_state": "folded"},
    "standoff_m": {"pick": 0.85},
}


def pose(z):
    return {"frame_id": "base_footprint", "position": [0.6, 0.0, z], "orientation": [1.0, 0.0, 0.0, 0.0]}


class Robot:
    """Answers every tool with success, unless told otherwise: `fail(tool, code, times)`, `say(tool, result)`."""

    def __init__(self):
        self.queue = defaultdict(list)
        self.held = False
        self.area = "kitchen"

    def say(self, tool, *results):
        self.queue[tool] += results
        return self

    def fail(self, tool, code, times=1):
        return self.say(tool, *[{"ok": False, "error_code": code, "message": f"{code} happened"}] * times)

    def __call__(self, name, arguments):
        tool = name.partition("__")[2]
        if self.queue[tool]:
            return self.queue[tool].pop(0)
        if tool == "close_gripper":
            self.held = True
        if tool == "open_gripper":
            self.held = False
        extra = {
            "get_robot_pose": {"area": self.area, "pose": {**ENTRY, "frame_id": "map"}},
            "detect_objects": {"detections": [{"label": str((arguments.get("names") or ["?"])[0])}]},
            "segment_objects": {"status": "SUCCESS", "outputs": [{"label": "it", "in_gripper": False}]},
            "get_topdown_grasp_pose": {
                "pre_grasp_pose": pose(0.5),
                "grasp_pose": pose(0.3),
                "lift_pose": pose(0.6),
                "object_height_m": 0.123,
                "reachable": True,
                "distance_m": 0.8,
            },
            "get_topdown_placing_pose": {
                "pre_place_pose": pose(0.7),
                "place_pose": pose(0.5),
                "reachable": True,
                "distance_m": 0.6,
                "mode": "surface",
            },
            "get_grasp_state": {"state": "HOLDING" if self.held else "EMPTY"},
        }.get(tool, {})
        return {"ok": True, "error_code": "NONE", "message": "", **extra}


@pytest.fixture
def robot():
    return Robot()


@pytest.fixture
def approach(agent, robot):
    def run(object_name="red can", target_area="kitchen", next_action="pick"):
        request = {"target_area": target_area, "object_name": object_name, "next_action": next_action}
        talk = agent("approach", request, FACTS)
        return talk, talk.run(robot).arguments

    return run


@pytest.fixture
def pick(agent, robot):
    def run(object_name="red can"):
        talk = agent("pick", {"object_name": object_name}, FACTS)
        return talk, talk.run(robot).arguments

    return run


@pytest.fixture
def place(agent, robot):
    robot.held = True

    def run(target="kitchen counter", object_name="red can"):
        request = {"target_location": target, "object_name": object_name, "object_height_m": 0.1}
        talk = agent("place", request, FACTS)
        return talk, talk.run(robot).arguments

    return run


def steps(talk):
    return [c.name.partition("__")[2] for c in talk.calls if not c.name.startswith("report_")]


# approach


def test_approach_tucks_drives_checks_and_reports(approach):
    talk, report = approach()
    assert steps(talk) == [
        "plan_and_execute",
        "navigate_to_pose",
        "get_robot_pose",
        "look",
        "detect_objects",
    ]
    tuck = talk.calls[0].arguments
    assert tuck == {"group": "left_arm", "target_type": "named_state", "target": {"state_name": "folded"}}
    assert talk.calls[1].arguments == ENTRY
    assert report["success"] is True
    assert report["error_code"] == "NONE"
    assert [(c["name"], c["result"]) for c in report["checks"]] == [("area", "PASS"), ("target", "PASS")]


def test_approach_of_a_place_drives_to_where_it_is_seen_from(approach):
    talk, _ = approach("the counter", next_action="surface_place")
    assert talk.made("nav2__navigate_to_pose")[0][1] == STAND


def test_approach_knows_areas_by_their_aliases(approach):
    _, report = approach(target_area="Galley")
    assert report["success"] is True


def test_approach_of_an_unknown_area_names_the_known_ones_and_does_not_drive(approach):
    talk, report = approach(target_area="garage")
    assert report["error_code"] == "NAV_AREA_WRONG"
    assert "kitchen" in report["reason"]
    assert "living room" in report["reason"]
    assert "navigate_to_pose" not in steps(talk)


def test_approach_of_a_place_that_stands_elsewhere(approach):
    _, report = approach("counter", target_area="living room", next_action="surface_place")
    assert report["error_code"] == "NAV_AREA_WRONG"
    assert "kitchen" in report["reason"]


def test_approach_of_the_floor_has_no_target_to_detect(approach):
    talk, report = approach("floor", next_action="floor_place")
    assert report["success"] is True
    assert report["checks"][1]["result"] == "SKIP"
    assert "detect_objects" not in steps(talk)


def test_approach_with_an_arm_that_cannot_be_tucked_does_not_drive(approach, robot):
    robot.fail("plan_and_execute", "PLANNING_FAILED", 2)
    talk, report = approach()
    assert report["error_code"] == "NAV_PLAN_FAILED"
    assert "navigate_to_pose" not in steps(talk)


def test_approach_tries_a_failed_tuck_once_more(approach, robot):
    robot.fail("plan_and_execute", "PLANNING_FAILED", 1)
    assert approach()[1]["success"] is True


def test_approach_clears_the_costmaps_and_drives_once_more(approach, robot):
    robot.fail("navigate_to_pose", "NAVIGATION_FAILED", 1)
    talk, report = approach("counter", next_action="surface_place")
    assert steps(talk)[1:4] == ["navigate_to_pose", "clear_costmaps", "navigate_to_pose"]
    assert talk.made("nav2__navigate_to_pose")[1][1] == ENTRY
    assert report["success"] is True


def test_a_robot_that_is_to_park_does_not_drive_into_the_way_of_others_after_a_failure(approach, robot):
    robot.fail("navigate_to_pose", "NAVIGATION_FAILED", 1)
    talk, report = approach("parking", next_action="floor_place")
    assert [asked for _, asked in talk.made("nav2__navigate_to_pose")] == [SPOT, SPOT]
    assert report["success"] is True


def test_approach_gives_up_after_the_second_failed_drive(approach, robot):
    robot.fail("navigate_to_pose", "NAVIGATION_FAILED", 2)
    assert approach()[1]["error_code"] == "NAV_DRIVE_FAILED"


def test_approach_looks_where_it_is_after_a_drive_without_an_answer(approach, robot):
    robot.fail("navigate_to_pose", "TIMEOUT", 1)
    talk, report = approach()
    assert steps(talk).count("navigate_to_pose") == 1, "it stood at the goal already"
    assert report["success"] is True


def test_approach_in_the_wrong_area_drives_again_and_then_says_so(approach, robot):
    robot.area = "living room"
    talk, report = approach()
    assert steps(talk).count("navigate_to_pose") == 2
    assert report["error_code"] == "NAV_DRIVE_FAILED"
    assert report["checks"] == [{"name": "area", "result": "FAIL", "note": report["reason"]}]


def test_approach_looks_with_both_cameras(approach):
    talk, report = approach()
    assert [a for _, a in talk.made("perception__detect_objects")] == [{"names": ["red can"], "camera": "both"}]
    assert report["success"] is True


@pytest.mark.parametrize(
    "seen",
    [
        {"ok": True, "error_code": "NONE", "detections": []},
        {"ok": True, "error_code": "NONE", "detections": [{"label": "red can", "in_gripper": True}]},
        {"ok": False, "error_code": "UNKNOWN_OBJECT", "message": "the catalogue has: blue mug"},
    ],
)
def test_approach_without_the_target_in_view(approach, robot, seen):
    robot.say("detect_objects", seen)
    _, report = approach()
    assert report["error_code"] == "NAV_TARGET_NOT_VISIBLE"
    assert [c["result"] for c in report["checks"]] == ["PASS", "FAIL"]
    assert seen.get("message", "") in report["reason"]


@pytest.mark.parametrize("code", ["STOPPED", "FENCED", "DENIED", "BRIDGE_UNAVAILABLE"])
@pytest.mark.parametrize("tool", ["plan_and_execute", "navigate_to_pose", "get_robot_pose", "detect_objects"])
def test_approach_ends_at_once_when_the_robot_is_taken_away(approach, robot, code, tool):
    robot.fail(tool, code)
    talk, report = approach()
    assert report["error_code"] == "UNKNOWN"
    assert code in report["reason"]
    assert steps(talk)[-1] == tool


# pick


def test_pick_goes_down_closes_lifts_and_reports_the_height(pick):
    talk, report = pick()
    assert steps(talk) == [
        *("get_grasp_state", "segment_objects", "get_topdown_grasp_pose", "open_gripper"),
        *("plan_and_execute", "plan_cartesian_path", "close_gripper", "get_grasp_state"),
        *("plan_cartesian_path", "plan_and_execute", "get_grasp_state"),
    ]
    assert report == {
        "success": True,
        "error_code": "NONE",
        "reason": report["reason"],
        "held_object_height_m": 0.123,
    }
    assert talk.made("moveit__plan_cartesian_path")[0][1] == pose(0.3)
    assert talk.made("moveit__plan_and_execute")[0][1]["target"] == pose(0.5)


def test_pick_and_place_let_the_arm_be_lower_where_it_cannot_be_high(pick, place, robot):
    robot.held = False
    grasp = {"pre_grasp_pose": pose(0.5), "grasp_pose": pose(0.3), "lift_pose": pose(0.6)}
    lower = {"pre_grasp_lower_by_m": 0.12, "lift_min_fraction": 0.4}
    robot.say("get_topdown_grasp_pose", {"ok": True, **grasp, **lower})
    talk, _ = pick()
    planned = [arguments for _, arguments in talk.made("moveit__plan_and_execute")]
    straight = [arguments for _, arguments in talk.made("moveit__plan_cartesian_path")]
    assert [one.get("lower_by_m") for one in planned] == [0.12, None]
    assert [one.get("min_fraction") for one in straight] == [None, 0.4]
    drop = {"pre_place_pose": pose(0.7), "place_pose": pose(0.5)}
    room = {"pre_place_lower_by_m": 0.06, "lower_min_fraction": 0.9, "retract_min_fraction": 0.5}
    robot.say("get_topdown_placing_pose", {"ok": True, **drop, **room})
    talk, _ = place()
    planned = [arguments for _, arguments in talk.made("moveit__plan_and_execute")]
    straight = [arguments for _, arguments in talk.made("moveit__plan_cartesian_path")]
    assert [one.get("lower_by_m") for one in planned] == [0.06, None]
    assert [one.get("min_fraction") for one in straight] == [0.9, 0.5]


@pytest.mark.parametrize(("found", "again"), [(True, None), (True, 0.3), (False, None)])
def test_pick_looks_from_above_where_it_is_not_sure_that_the_fingers_pass(pick, robot, found, again):
    grasp = {"ok": True, "pre_grasp_pose": pose(0.5), "grasp_pose": pose(0.3), "lift_pose": pose(0.6)}
    robot.say("get_topdown_grasp_pose", {**grasp, "look_again": True, "open_position": 0.3})
    if found:
        robot.say(
            "get_topdown_grasp_pose", {**grasp, "grasp_pose": pose(0.25), "look_again": True, "open_position": again}
        )
    else:
        robot.fail("get_topdown_grasp_pose", "NO_OBJECTS_FOUND")
    talk, report = pick()
    assert report["success"] is True
    asked = [a for _, a in talk.made("perception__get_topdown_grasp_pose")]
    assert asked == [{"object_name": "red can"}, {"object_name": "red can", "camera": "arm"}]
    opened = [a for _, a in talk.made("moveit__open_gripper")]
    down = talk.made("moveit__plan_cartesian_path")[0][1]
    # The fingers are not opened again to where they are.
    assert opened == ([{"position": 0.3}, {}] if found and again is None else [{"position": 0.3}])
    assert down == (pose(0.25) if found else pose(0.3))


def test_pick_leaves_what_is_too_uncertain_from_above_as_well(pick, robot):
    grasp = {"ok": True, "pre_grasp_pose": pose(0.5), "grasp_pose": pose(0.3), "lift_pose": pose(0.6)}
    robot.say("get_topdown_grasp_pose", {**grasp, "look_again": True})
    robot.say("get_topdown_grasp_pose", {**grasp, "too_uncertain": True, "message": "look from another side"})
    talk, report = pick()
    assert report["error_code"] == "PICK_PLAN_FAILED"
    assert "look from another side" in report["reason"]
    assert not talk.made("moveit__plan_cartesian_path")
    assert talk.made("moveit__plan_and_execute")[-1][1]["target_type"] == "named_state"


def test_pick_with_something_in_the_gripper(pick, robot):
    robot.held = True
    talk, report = pick()
    assert report["error_code"] == "PICK_HOLDING_ALREADY"
    assert "something else" in report["reason"]
    assert "plan_and_execute" not in steps(talk)


def test_pick_of_what_the_gripper_holds_already_says_so(pick, robot):
    robot.held = True
    output = {"label": "red can", "in_gripper": True, "size_m": [0.06, 0.06, 0.11]}
    robot.say("segment_objects", {"ok": True, "error_code": "NONE", "status": "SUCCESS", "outputs": [output]})
    _, report = pick()
    assert report["error_code"] == "PICK_HOLDING_ALREADY"
    assert "red can" in report["reason"]
    assert report["held_object_height_m"] == 0.11


def test_pick_with_a_gripper_that_says_nothing(pick, robot):
    robot.say("get_grasp_state", *[{"ok": True, "error_code": "NONE", "state": "UNKNOWN"}] * 3)
    assert pick()[1]["error_code"] == "UNKNOWN"


def test_pick_uses_the_front_camera_when_the_wrist_sees_nothing(pick, robot):
    robot.say("segment_objects", {"ok": True, "error_code": "NONE", "status": "NO_OBJECTS_FOUND", "outputs": []})
    talk, report = pick()
    assert [a["camera"] for _, a in talk.made("perception__segment_objects")] == ["arm", "front"]
    assert talk.made("perception__get_topdown_grasp_pose")[0][1] == {"object_name": "red can"}
    assert report["success"] is True


def test_pick_asks_for_a_grasp_pose_once_more_with_the_camera_that_found_the_object(pick, robot):
    robot.fail("get_topdown_grasp_pose", "TOO_FEW_POINTS")
    talk, report = pick()
    asked = [a for _, a in talk.made("perception__get_topdown_grasp_pose")]
    assert asked == [{"object_name": "red can"}, {"object_name": "red can", "camera": "arm"}]
    assert report["success"] is True


@pytest.mark.parametrize("code", ["NO_OBJECTS_FOUND", "CAMERA_UNAVAILABLE", "UNKNOWN_OBJECT"])
def test_pick_that_sees_nothing(pick, robot, code):
    robot.fail("segment_objects", code, 2)
    talk, report = pick()
    assert report["error_code"] == "PICK_SEG_MISSED"
    assert "plan_and_execute" not in steps(talk)


def test_pick_of_an_object_without_depth(pick, robot):
    robot.fail("get_topdown_grasp_pose", "TOO_FEW_POINTS", 4)
    assert pick()[1]["error_code"] == "PICK_SEG_MISSED"


def test_pick_out_of_reach(pick, robot):
    far = {"ok": True, "error_code": "NONE", "reachable": False, "distance_m": 1.4, "grasp_pose": pose(0.1)}
    robot.say("get_topdown_grasp_pose", {**far, "pre_grasp_pose": pose(0.3)})
    talk, report = pick()
    assert report["error_code"] == "PICK_REACH_EXCEEDED"
    assert "1.4" in report["reason"]
    assert "plan_and_execute" not in steps(talk)


def test_pick_without_inverse_kinematics(pick, robot):
    robot.fail("plan_and_execute", "OUT_OF_REACH")
    assert pick()[1]["error_code"] == "PICK_REACH_EXCEEDED"


@pytest.mark.parametrize("tool", ["plan_and_execute", "plan_cartesian_path"])
@pytest.mark.parametrize("code", ["START_IN_COLLISION", "GOAL_IN_COLLISION"])
def test_pick_clears_the_scene_where_it_may_be_wrong_and_plans_once_more(pick, robot, tool, code):
    robot.fail(tool, code)
    talk, report = pick()
    first = steps(talk).index(tool)
    assert steps(talk)[first : first + 3] == [tool, "clear_planning_scene", tool]
    assert report["success"] is True


@pytest.mark.parametrize("tool", ["plan_and_execute", "plan_cartesian_path"])
def test_pick_plans_once_more_with_all_that_the_scene_knows(pick, robot, tool):
    robot.fail(tool, "PLANNING_FAILED")
    talk, report = pick()
    first = steps(talk).index(tool)
    assert steps(talk)[first : first + 2] == [tool, tool]
    assert "clear_planning_scene" not in steps(talk)
    assert report["success"] is True


def test_pick_does_not_clear_the_scene_where_a_straight_path_is_barred(pick, robot):
    """It would forget what no camera sees just now, and move the arm into that."""
    robot.fail("plan_cartesian_path", "PATH_INCOMPLETE")
    talk, report = pick()
    assert report["error_code"] == "PICK_PLAN_FAILED"
    assert steps(talk).count("plan_cartesian_path") == 1
    assert "clear_planning_scene" not in steps(talk)


@pytest.mark.parametrize("tool", ["plan_and_execute", "plan_cartesian_path"])
def test_pick_that_cannot_be_planned_leaves_the_arm_in_transit(pick, robot, tool):
    robot.fail(tool, "PLANNING_FAILED", 2)
    talk, report = pick()
    assert report["error_code"] == "PICK_PLAN_FAILED"
    assert talk.calls[-2].arguments["target"] == {"state_name": "folded"}
    assert "close_gripper" not in steps(talk)


def test_pick_leaves_what_stopped_the_hand_straight_up_and_does_not_push_it_again(pick, robot):
    robot.fail("plan_cartesian_path", "EXECUTION_FAILED")
    talk, report = pick()
    assert report["error_code"] == "PICK_PLAN_FAILED"
    down, up = (arguments for _, arguments in talk.made("moveit__plan_cartesian_path"))
    assert down["position"][2] < up["position"][2]
    assert "close_gripper" not in steps(talk)


def test_pick_does_not_push_again_what_stopped_the_arm_on_its_way(pick, robot):
    robot.fail("plan_and_execute", "EXECUTION_FAILED")
    talk, report = pick()
    assert report["error_code"] == "PICK_PLAN_FAILED"
    to_pose, tuck = (arguments for _, arguments in talk.made("moveit__plan_and_execute"))
    assert (to_pose["target_type"], tuck["target_type"]) == ("pose", "named_state")


def test_pick_that_closes_on_nothing_looks_and_tries_once_more(pick, robot):
    empty = {"ok": True, "error_code": "NONE", "state": "EMPTY"}
    robot.say("get_grasp_state", empty, empty)
    talk, report = pick()
    assert steps(talk).count("close_gripper") == 2
    assert steps(talk).count("segment_objects") == 2
    assert report["success"] is True


def test_pick_does_not_search_for_what_may_be_in_its_gripper(pick, robot):
    """Where the fingers may not be opened, since they still move or touch something, it is not known what they hold."""
    unsure = {"ok": True, "error_code": "NONE", "state": "MOVING"}
    robot.say("get_grasp_state", {"ok": True, "error_code": "NONE", "state": "EMPTY"}, *[unsure] * 3)
    robot.say("open_gripper", {"ok": True, "error_code": "NONE"}).fail("open_gripper", "WRONG_PHASE", 2)
    talk, report = pick()
    assert report["error_code"] == "UNKNOWN"
    assert "may be in the gripper" in report["reason"]
    assert steps(talk).count("segment_objects") == 1
    assert talk.calls[-2].arguments["target"] == {"state_name": "folded"}


def test_pick_that_closes_on_nothing_twice(pick, robot):
    robot.say("get_grasp_state", *[{"ok": True, "error_code": "NONE", "state": "EMPTY"}] * 3)
    talk, report = pick()
    assert report["error_code"] == "PICK_ATTACH_TIMEOUT"
    assert talk.calls[-2].arguments["target"] == {"state_name": "folded"}


def test_pick_that_loses_the_object_on_the_way_up(pick, robot):
    states = [{"ok": True, "error_code": "NONE", "state": s} for s in ("EMPTY", "HOLDING", "EMPTY")]
    robot.say("get_grasp_state", *states)
    assert pick()[1]["error_code"] == "PICK_ATTACH_TIMEOUT"


def test_pick_of_another_object_where_the_driver_names_it(pick, robot):
    states = [{"ok": True, "error_code": "NONE", "state": s, "attached_object": "blue_mug"} for s in ("HOLDING",) * 2]
    robot.say("get_grasp_state", {"ok": True, "error_code": "NONE", "state": "EMPTY"}, *states)
    _, report = pick()
    assert report["error_code"] == "PICK_WRONG_OBJECT"
    assert report["held_object_height_m"] == 0.123


def test_pick_that_cannot_tuck_says_that_it_holds(pick, robot):
    ok = {"ok": True, "error_code": "NONE"}
    robot.say("plan_and_execute", ok).fail("plan_and_execute", "PLANNING_FAILED", 2)
    _, report = pick()
    assert report["error_code"] == "PICK_PLAN_FAILED"
    assert "held" in report["reason"]
    assert report["held_object_height_m"] == 0.123


@pytest.mark.parametrize("code", ["STOPPED", "FENCED", "DENIED", "BRIDGE_UNAVAILABLE"])
@pytest.mark.parametrize("tool", ["segment_objects", "open_gripper", "plan_cartesian_path", "close_gripper"])
def test_pick_ends_at_once_when_the_robot_is_taken_away(pick, robot, code, tool):
    robot.fail(tool, code)
    talk, report = pick()
    assert report["error_code"] == "UNKNOWN"
    assert steps(talk)[-1] == tool


# place


def test_place_releases_retracts_and_looks(place):
    talk, report = place()
    assert steps(talk) == [
        *("get_grasp_state", "segment_objects", "get_topdown_placing_pose", "plan_and_execute"),
        *("plan_cartesian_path", "open_gripper", "plan_cartesian_path", "detect_objects"),
        *("plan_and_execute", "get_grasp_state"),
    ]
    assert report["success"] is True
    assert talk.made("perception__get_topdown_placing_pose")[0][1] == {
        "object_name": "kitchen counter",
        "object_height_m": 0.1,
        "held_object": "red can",
    }


@pytest.mark.parametrize("said", ["floor", "the floor", "Ground", "living room floor"])
def test_place_on_the_floor_needs_no_segmentation(place, said):
    talk, report = place(said)
    assert "segment_objects" not in steps(talk)
    assert talk.made("perception__get_topdown_placing_pose")[0][1]["object_name"] == "floor"
    assert report["success"] is True


def test_place_with_an_empty_gripper(place, robot):
    robot.held = False
    talk, report = place()
    assert report["error_code"] == "PLACE_HOLDING_NOTHING"
    assert steps(talk) == ["get_grasp_state"]


@pytest.mark.parametrize("target", ["window", "the person", "sofa"])
def test_place_on_what_is_no_place(place, target):
    talk, report = place(target)
    assert report["error_code"] == "PLACE_OUT_OF_SCOPE"
    assert "kitchen counter" in report["reason"]
    assert "open_gripper" not in steps(talk)


@pytest.mark.parametrize("code", ["NOT_A_PLACE", "UNKNOWN_OBJECT"])
def test_place_on_what_perception_calls_no_place(place, robot, code):
    robot.fail("get_topdown_placing_pose", code)
    assert place()[1]["error_code"] == "PLACE_OUT_OF_SCOPE"


def test_place_that_does_not_see_the_target(place, robot):
    robot.fail("segment_objects", "NO_OBJECTS_FOUND", 2)
    talk, report = place()
    assert report["error_code"] == "PLACE_SEG_MISSED"
    assert "open_gripper" not in steps(talk)


def test_place_without_free_space(place, robot):
    robot.fail("get_topdown_placing_pose", "NO_FREE_SPACE")
    _, report = place()
    assert report["error_code"] == "PLACE_SEG_MISSED"
    assert "NO_FREE_SPACE" in report["reason"]


def test_place_out_of_reach(place, robot):
    far = {"pre_place_pose": pose(0.7), "place_pose": pose(0.5), "reachable": False, "distance_m": 1.2}
    robot.say("get_topdown_placing_pose", {"ok": True, "error_code": "NONE", **far})
    talk, report = place()
    assert report["error_code"] == "PLACE_REACH_EXCEEDED"
    assert "open_gripper" not in steps(talk)


@pytest.mark.parametrize("tool", ["plan_and_execute", "plan_cartesian_path"])
def test_place_that_cannot_be_planned_keeps_holding(place, robot, tool):
    robot.fail(tool, "PLANNING_FAILED", 2)
    talk, report = place()
    assert report["error_code"] == "PLACE_PLAN_FAILED"
    assert talk.calls[-2].arguments["target"] == {"state_name": "folded"}
    assert "open_gripper" not in steps(talk)


def test_place_leaves_what_stopped_the_hand_straight_up_still_holding(place, robot):
    robot.fail("plan_cartesian_path", "EXECUTION_FAILED")
    talk, report = place()
    assert report["error_code"] == "PLACE_PLAN_FAILED"
    down, up = (arguments for _, arguments in talk.made("moveit__plan_cartesian_path"))
    assert down["position"][2] < up["position"][2]
    assert "open_gripper" not in steps(talk)


def test_place_that_does_not_see_the_object_afterwards(place, robot):
    robot.say("detect_objects", *[{"ok": True, "error_code": "NONE", "detections": []}] * 2)
    talk, report = place()
    assert report["error_code"] == "PLACE_DROP_VERIFY_FAILED"
    assert [a["camera"] for _, a in talk.made("perception__detect_objects")] == ["arm", "front"]


def test_place_with_a_gripper_that_does_not_open(place, robot):
    robot.fail("open_gripper", "GRIPPER_FAILED", 2)
    _, report = place()
    assert report["error_code"] == "PLACE_DROP_VERIFY_FAILED"
    assert "still in the gripper" in report["reason"]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("EMPTY", "'red can' was released."),
        ("HOLDING", "'red can' is still held."),
        ("UNKNOWN", "Whether 'red can' was released is not known."),
    ],
)
def test_place_tells_no_release_that_it_has_not_seen(place, robot, state, words):
    robot.say("get_grasp_state", {"ok": True, "state": "HOLDING"}, *[{"ok": True, "state": state}] * 3)
    robot.fail("open_gripper", "SERVER_LOST", 2)
    robot.say("plan_and_execute", {"ok": True}).fail("plan_and_execute", "SERVER_UNAVAILABLE", 2)
    _, report = place()
    assert report["error_code"] == "PLACE_PLAN_FAILED"
    assert report["reason"].startswith(words)


@pytest.mark.parametrize("code", ["STOPPED", "FENCED", "DENIED", "BRIDGE_UNAVAILABLE"])
@pytest.mark.parametrize("tool", ["get_topdown_placing_pose", "plan_and_execute", "open_gripper"])
def test_place_ends_at_once_when_the_robot_is_taken_away(place, robot, code, tool):
    robot.fail(tool, code)
    talk, report = place()
    assert report["error_code"] == "UNKNOWN"
    assert steps(talk)[-1] == tool


# reports


def test_a_rejected_report_is_made_once_more_in_its_shortest_form(agent, robot):
    talk = agent("pick", {"object_name": "red can"}, FACTS)
    report = talk.run(robot)
    talk.add(report, {"ok": False, "error_code": "INVALID_REPORT", "message": "held_object_height_m: too tall"})
    again = talk.next()
    assert again.name == "report_pick_result"
    assert again.arguments == {k: report.arguments[k] for k in ("success", "error_code", "reason")}


def test_calls_that_the_policy_never_made_are_passed_over(agent, robot):
    """As after a misbehaving answer: malformed arguments and unknown tools stay in the history."""
    from quartet_scripted_model import Call

    talk = agent("pick", {"object_name": "red can"}, FACTS)
    talk.add(Call("moveit__open_gripper_v2"), {"ok": False, "error_code": "UNKNOWN_TOOL", "message": "no such tool"})
    talk.add(
        Call("perception__segment_objects", {"malformed": '{"prom'}), {"ok": False, "error_code": "INVALID_ARGUMENTS"}
    )
    talk.messages.append({"role": "user", "content": "You answered without calling a tool."})
    assert talk.run(robot).arguments["success"] is True


def test_pick_with_a_gripper_that_does_not_open_never_goes_down(pick, robot):
    robot.fail("open_gripper", "GRIPPER_FAILED", 2)
    talk, report = pick()
    assert report["error_code"] == "UNKNOWN"
    assert "plan_and_execute" not in steps(talk)
