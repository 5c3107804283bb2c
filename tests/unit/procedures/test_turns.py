"""Turns: what is repeated after a failure, what ends a procedure, and that texts and code agree."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from quartet_contracts import MODEL_TOOLS, ApproachCode, PickCode, PlaceCode, Skill
from quartet_contracts.tools import moveit, nav2, perception, results
from quartet_procedures import Arm, Call, GaveUpError, approach, carry_out, pick, place, prompt_parts
from support.played_robot import DROP, FACTS, GRASP, Played, Robot, play, pose

MOVE, STRAIGHT = "moveit__plan_and_execute", "moveit__plan_cartesian_path"
OPEN, CLOSE, STATE = "moveit__open_gripper", "moveit__close_gripper", "moveit__get_grasp_state"
DRIVE, DETECT = "nav2__navigate_to_pose", "perception__detect_objects"
MOTIONS = {MOVE, STRAIGHT, OPEN, CLOSE, DRIVE}
DECIDED = ["STOPPED", "FENCED", "DENIED", "CANCELED", "BRIDGE_UNAVAILABLE", "NAVIGATION_CANCELED"]
POLICY = [
    *("POLICY_DENIED", "APPROVAL_DENIED", "INPUT_REQUIRED", "OUTSIDE_GEOFENCE", "OUTSIDE_WORKSPACE"),
    *("OVER_LIMIT", "WRONG_PHASE", "RATE_LIMITED"),
]
ODD = "ODD_FAILURE"
"""A code that no procedure knows."""


def carried_out(robot: Robot, *calls: Call) -> tuple[list[str], list[list[str]]]:
    """Return the codes of the results, and the turns."""
    played = play(carry_out(*calls), robot)
    return [result.code for result in played.report], played.turns


# carry_out


def test_calls_that_succeed_are_one_turn(robot: Robot) -> None:
    assert carried_out(robot, Call(OPEN), Call(STATE)) == (["NONE", "NONE"], [["open_gripper", "get_grasp_state"]])


def test_failed_call_is_repeated_with_the_rest_of_the_turn(robot: Robot) -> None:
    robot.fail("plan_cartesian_path", "PLANNING_FAILED")
    codes, turns = carried_out(robot, Call(OPEN), Call(STRAIGHT, pose(1)), Call(CLOSE))
    assert codes == ["NONE"] * 3
    assert turns == [
        ["open_gripper", "plan_cartesian_path", "close_gripper"],
        ["plan_cartesian_path", "close_gripper"],
    ]
    assert [name for name, _ in robot.calls] == [OPEN, STRAIGHT, STRAIGHT, CLOSE]


def test_call_that_fails_twice_ends_the_turn_before_the_rest(robot: Robot) -> None:
    robot.fail("plan_cartesian_path", "PLANNING_FAILED", 2)
    codes, _ = carried_out(robot, Call(OPEN), Call(STRAIGHT, pose(1)), Call(CLOSE))
    assert codes == ["NONE", "PLANNING_FAILED"]
    assert robot.made("close_gripper") == []


def test_each_call_of_a_turn_may_be_repeated(robot: Robot) -> None:
    robot.fail("plan_cartesian_path", "PLANNING_FAILED").fail("close_gripper", "GRIPPER_FAILED")
    codes, turns = carried_out(robot, Call(STRAIGHT, pose(1)), Call(CLOSE))
    assert codes == ["NONE", "NONE"]
    assert turns == [["plan_cartesian_path", "close_gripper"]] * 2 + [["close_gripper"]]


TO_POSE, TO_STATE = {"target_type": "pose", "target": pose(1)}, {"target_type": "named_state", "target": {}}


@pytest.mark.parametrize(
    ("call", "code", "made"),
    [
        (Call(MOVE, TO_POSE), "PLANNING_FAILED", 2),
        (Call(MOVE, TO_POSE), "START_IN_COLLISION", 2),
        (Call(MOVE, TO_POSE), "OUT_OF_REACH", 1),
        (Call(MOVE, TO_POSE), "INVALID_PARAMETERS", 1),
        (Call(MOVE, TO_POSE), "EXECUTION_FAILED", 1),
        (Call(MOVE, TO_STATE), "EXECUTION_FAILED", 2),
        (Call(MOVE, TO_STATE), "UNKNOWN_STATE", 1),
        (Call(STRAIGHT, pose(1)), "PLANNING_FAILED", 2),
        (Call(STRAIGHT, pose(1)), "PATH_INCOMPLETE", 1),
        (Call(STRAIGHT, pose(1)), "EXECUTION_FAILED", 1),
        (Call(OPEN), "GRIPPER_FAILED", 2),
        (Call(CLOSE), "GRIPPER_FAILED", 2),
        (Call(DRIVE), "NAVIGATION_FAILED", 1),
        (Call(DRIVE), "BUSY", 1),
        (Call(DETECT), "TIMEOUT", 2),
        (Call(DETECT), "TRANSFORM_UNAVAILABLE", 2),
        (Call(DETECT), "CAMERA_UNAVAILABLE", 1),
        (Call(DETECT), "UNKNOWN_OBJECT_ID", 1),
    ],
)
def test_call_is_repeated_once_where_that_can_help(robot: Robot, call: Call, code: str, made: int) -> None:
    tool = call.name.rpartition("__")[2]
    robot.fail(tool, code, 9)
    codes, _ = carried_out(robot, call)
    assert (codes, len(robot.made(tool))) == ([code], made)
    assert len(robot.made("clear_planning_scene")) == (code == "START_IN_COLLISION")


@pytest.mark.parametrize("code", ["START_IN_COLLISION", "GOAL_IN_COLLISION"])
def test_scene_is_cleared_only_where_that_is_allowed(robot: Robot, code: str) -> None:
    robot.fail("plan_and_execute", code)
    assert play(carry_out(Call(MOVE, TO_STATE), clears_scene=False), robot).turns == [["plan_and_execute"]] * 2


def test_forgotten_id_is_replaced_by_the_name_and_the_call_may_still_be_repeated(robot: Robot) -> None:
    robot.forgetful = True
    robot.fail("detect_objects", "TIMEOUT")
    call = Call(DETECT, {"object_ids": ["obj_1"]}, by_name={"names": ["can"]})
    codes, turns = carried_out(robot, call, Call(STATE))
    assert codes == ["NONE", "NONE"]
    assert turns == [["detect_objects", "get_grasp_state"]] * 3
    assert robot.made("detect_objects") == [{"object_ids": ["obj_1"]}, {"names": ["can"]}, {"names": ["can"]}]


@pytest.mark.parametrize("call", [Call(MOVE, TO_POSE), Call(STRAIGHT, pose(1)), Call(OPEN), Call(CLOSE), Call(DRIVE)])
def test_motion_of_unknown_outcome_is_never_repeated(robot: Robot, call: Call) -> None:
    """A descent that timed out may have pushed the object: its pose is no longer known."""
    robot.fail(call.name.rpartition("__")[2], "TIMEOUT")
    with pytest.raises(GaveUpError, match="TIMEOUT happened") as end:
        carried_out(robot, call, Call(STATE))
    assert (end.value.code, end.value.because) == ("UNKNOWN", "TIMEOUT")
    assert [name for name, _ in robot.calls] == [call.name]


@pytest.mark.parametrize("code", [*DECIDED, *POLICY])
def test_decision_of_a_person_or_a_rule_ends_the_procedure(robot: Robot, code: str) -> None:
    robot.fail("get_grasp_state", code)
    with pytest.raises(GaveUpError, match=f"{STATE}: {code}") as end:
        carried_out(robot, Call(OPEN), Call(STATE), Call(CLOSE))
    assert (end.value.code, end.value.because) == ("UNKNOWN", code)
    assert [name for name, _ in robot.calls] == [OPEN, STATE]


# Arm


def arm() -> Arm:
    return Arm("folded", failed="FAILED", out_of_reach="FAR")


@pytest.mark.parametrize(("code", "reported"), [("OUT_OF_REACH", "FAR"), ("PATH_INCOMPLETE", "FAILED")])
def test_arm_gives_up_from_its_transit_state(robot: Robot, code: str, reported: str) -> None:
    (failed,) = robot.fail("plan_cartesian_path", code).turn([Call(STRAIGHT)])
    with pytest.raises(GaveUpError, match=f"did not get to the can: {code}") as end:
        play(arm().give_up(failed, "the can"), robot)
    assert (end.value.code, end.value.because) == (reported, code)
    assert robot.made("plan_and_execute") == [{"target_type": "named_state", "target": {"state_name": "folded"}}]


def test_failure_to_tuck_is_reported_with_its_note(robot: Robot) -> None:
    robot.fail("plan_and_execute", "PLANNING_FAILED", 2)
    with pytest.raises(GaveUpError) as end:
        play(arm().transit("it was let go; "), robot)
    assert end.value.report == {
        "success": False,
        "error_code": "FAILED",
        "reason": "it was let go; the arm did not reach its transit state: PLANNING_FAILED: PLANNING_FAILED happened",
    }


@pytest.mark.parametrize("barred", [False, True])
def test_hand_goes_up_straight_or_by_a_planned_motion(robot: Robot, barred: bool) -> None:
    robot.fail("plan_cartesian_path", "PATH_INCOMPLETE", int(barred))
    assert play(arm().up(pose(1), 0.4, 0.1), robot).report.ok
    assert robot.made("plan_cartesian_path") == [{**pose(1), "min_fraction": 0.4}]
    assert robot.made("plan_and_execute") == ([{**TO_POSE, "lower_by_m": 0.1}] if barred else [])


# Every failure of every call


PROCEDURES: dict[Skill, Any] = {Skill.APPROACH: approach, Skill.PICK: pick, Skill.PLACE: place}
CODES: dict[Skill, Any] = {Skill.APPROACH: ApproachCode, Skill.PICK: PickCode, Skill.PLACE: PlaceCode}
REQUESTS: dict[Skill, dict[str, Any]] = {
    Skill.APPROACH: {"target_area": "kitchen", "object_name": "red can", "next_action": "pick", "object_id": "obj_1"},
    Skill.PICK: {"object_name": "red can", "object_id": "obj_1"},
    Skill.PLACE: {
        "target_location": "kitchen counter", "object_name": "red can", "target_id": "obj_2", "held_id": "obj_1",
    },
}  # fmt: skip


def forget(robot: Robot) -> None:
    robot.forgetful = True


def stray(robot: Robot) -> None:
    robot.area = "living room"


def states(*names: str) -> list[dict[str, Any]]:
    return [{"state": name} for name in names]


SCENARIOS: dict[str, tuple[Skill, dict[str, Any], Callable[[Robot], object]]] = {
    "approach": (Skill.APPROACH, {}, lambda robot: robot),
    "approach a forgotten object": (Skill.APPROACH, {}, forget),
    "approach no area": (Skill.APPROACH, {"target_area": "garage"}, lambda robot: robot),
    "approach after a failed drive": (Skill.APPROACH, {}, lambda robot: robot.fail("navigate_to_pose", "GOAL_FAILED")),
    "approach from another area": (Skill.APPROACH, {}, stray),
    "approach out of view": (Skill.APPROACH, {}, lambda robot: robot.say("detect_objects", {"detections": []})),
    "approach the floor": (Skill.APPROACH, {"object_name": "floor"}, lambda robot: robot),
    "pick": (Skill.PICK, {}, lambda robot: robot),
    "pick a forgotten object": (Skill.PICK, {}, forget),
    "pick with a second look": (
        Skill.PICK,
        {},
        lambda robot: robot.say("get_topdown_grasp_pose", {**GRASP, "look_again": True}, {**GRASP, "open_position": 1}),
    ),
    "pick out of reach": (
        Skill.PICK,
        {},
        lambda robot: robot.say("get_topdown_grasp_pose", {**GRASP, "reachable": False}),
    ),
    "pick with a full gripper": (Skill.PICK, {}, lambda robot: robot.say("get_grasp_state", *states("HOLDING"))),
    "pick with an unknown gripper": (Skill.PICK, {}, lambda robot: robot.say("get_grasp_state", *states("UNKNOWN"))),
    "pick unseen": (Skill.PICK, {}, lambda robot: robot.fail("get_topdown_grasp_pose", "NO_OBJECTS_FOUND")),
    "pick at the second try": (Skill.PICK, {}, lambda robot: robot.say("close_gripper", *states("EMPTY"))),
    "pick nothing": (Skill.PICK, {}, lambda robot: robot.say("close_gripper", *states("EMPTY", "EMPTY"))),
    "pick a slippery object": (Skill.PICK, {}, lambda robot: robot.say("get_grasp_state", *states("EMPTY", "EMPTY"))),
    "pick under a table": (Skill.PICK, {}, lambda robot: robot.fail("plan_cartesian_path", "PATH_INCOMPLETE")),
    "place": (Skill.PLACE, {}, lambda robot: robot),
    "place forgotten objects": (Skill.PLACE, {}, forget),
    "place nothing": (Skill.PLACE, {}, lambda robot: robot.say("get_grasp_state", *states("EMPTY"))),
    "place too far": (
        Skill.PLACE,
        {},
        lambda robot: robot.say("get_topdown_placing_pose", {**DROP, "reachable": False}),
    ),
    "place with stuck fingers": (Skill.PLACE, {}, lambda robot: robot.fail("open_gripper", "GRIPPER_FAILED", 2)),
    "place under a lamp": (
        Skill.PLACE,
        {},
        lambda robot: robot.say("plan_cartesian_path", {}).fail("plan_cartesian_path", "PATH_INCOMPLETE"),
    ),
}


def run(scenario: str, at: int = -1, code: str = "", *, for_good: bool = False) -> tuple[Played, Robot]:
    """Play a scenario in which the call number `at` fails."""
    skill, more, prepare = SCENARIOS[scenario]
    robot = Robot(held=skill is Skill.PLACE).fail_at(at, code, for_good=for_good)
    prepare(robot)
    return play(PROCEDURES[skill]({**REQUESTS[skill], **more}, FACTS), robot), robot


def calls_in(scenario: str) -> list[str]:
    return [name for name, _ in run(scenario)[1].calls]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_call_follows_a_decision_of_a_person_or_a_rule(scenario: str) -> None:
    for at, tool in enumerate(calls_in(scenario)):
        for code in (*DECIDED, *POLICY):
            played, robot = run(scenario, at, code)
            assert len(robot.calls) == at + 1, (at, tool, code)
            assert played.report["error_code"] == "UNKNOWN"
            assert f"{tool}: {code}" in played.report["reason"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_call_follows_a_motion_of_unknown_outcome(scenario: str) -> None:
    for at, tool in enumerate(calls_in(scenario)):
        played, robot = run(scenario, at, "TIMEOUT")
        if tool in MOTIONS:
            assert (len(robot.calls), played.report["error_code"]) == (at + 1, "UNKNOWN"), (at, tool)
        else:
            assert len(robot.calls) > at + 1, "a call that only reads is repeated"


@dataclass
class Course:
    """What was seen of a skill while each call failed with each code."""

    tools: set[str]
    codes: set[str]
    significant: set[str]
    """Codes of tools after which the skill goes on otherwise than after an unknown one."""


def tool_codes(skill: Skill) -> set[str]:
    """Return the codes in the text of a skill that are not those of its report."""
    return set(re.findall(r"`([A-Z][A-Z_]+)`", text_of(skill))) - set(CODES[skill]) - {"NOT_RUN"}


def text_of(skill: Skill) -> str:
    """Return the parts of a skill's prompt that have the procedure in words."""
    parts = prompt_parts()
    return "\n".join(parts[one] for one in (skill, "rules", *(() if skill is Skill.APPROACH else ("motions",))))


def course_of(skill: Skill) -> Course:
    """Play all scenarios of a skill, and let each call fail in each way."""
    course = Course(set(), set(), set())
    for scenario in (one for one, (of, _, _) in SCENARIOS.items() if of is skill):
        for at in range(len(calls_in(scenario))):
            for for_good in (False, True):
                odd, _ = run(scenario, at, ODD, for_good=for_good)
                for code in (ODD, *tool_codes(skill)):
                    played, robot = run(scenario, at, code, for_good=for_good)
                    course.tools |= {name for name, _ in robot.calls}
                    course.codes.add(str(played.report["error_code"]))
                    end = played.turns, played.report["error_code"], robot.calls
                    if end != (odd.turns, odd.report["error_code"], run(scenario, at, ODD, for_good=for_good)[1].calls):
                        course.significant.add(code)
        course.codes.add(str(run(scenario)[0].report["error_code"]))
    return course


@pytest.mark.parametrize("skill", PROCEDURES)
def test_text_names_the_tools_and_codes_that_the_code_uses(skill: Skill) -> None:
    text, course = text_of(skill), course_of(skill)
    named = set(re.findall(r"`([a-z0-9]+__\w+)`", text))
    assert named == course.tools == set(MODEL_TOOLS[skill])
    codes = set(re.findall(r"`([A-Z][A-Z_]+)`", text))
    assert codes & set(CODES[skill]) == course.codes - {"NONE"}
    assert tool_codes(skill) == course.significant


def test_texts_name_only_codes_that_exist() -> None:
    enums = [moveit.MoveitCode, nav2.NavCode, perception.PerceptionCode, results.CommonCode, *CODES.values()]
    known = {str(code) for enum in enums for code in enum} | {"NOT_RUN"}
    named = {code for text in prompt_parts().values() for code in re.findall(r"`([A-Z][A-Z_]+)`", text)}
    assert named - known == set()
