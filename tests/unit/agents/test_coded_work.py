"""The agents' own code in place of a model, over played servers: what is made again, and what never is."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from quartet_agent_runtime import (
    CodedArm,
    GaveUpError,
    RequestContext,
    ToolOutcome,
    VerificationError,
    WorkClock,
    failure,
)
from quartet_approach.work import work as approach
from quartet_contracts import ApproachArguments, Skill, SkillRequest
from quartet_contracts.tools import Pose3D
from quartet_pick.work import work as pick
from quartet_site import load_robot, load_site

HOME = Path(__file__).parents[3] / "deploy" / "sites" / "home"
SITE, ROBOT = load_site(HOME / "site.yaml"), load_robot(HOME / "robot.yaml")
ABOVE = {"frame_id": "base_footprint", "position": [0.6, 0.0, 0.9], "orientation": [1.0, 0.0, 0.0, 0.0]}
GRASP = {**ABOVE, "position": [0.6, 0.0, 0.7]}
DRIVE, STRAIGHT, MOVE = "nav2__navigate_to_pose", "moveit__plan_cartesian_path", "moveit__plan_and_execute"
TUCKED = dict(zip(ROBOT.arm.joints, ROBOT.arm.named_states[ROBOT.arm.transit_state], strict=True))


@dataclass
class Played(RequestContext):
    """Servers whose tools answer in turn what `says` has for them, then that all is well."""

    says: dict[str, list[Any]] = field(default_factory=dict)
    called: list[str] = field(default_factory=list)
    given: list[dict[str, Any]] = field(default_factory=list)

    async def outcome(self, tool: str, *, timeout_s: float | None = None, **given: Any) -> ToolOutcome:
        self.called.append(tool)
        self.given.append(given)
        answers = self.says.get(tool, [])
        answer = (answers.pop(0) if len(answers) > 1 else answers[0]) if answers else {}
        return failure(answer, "so it is") if isinstance(answer, str) else ToolOutcome({"ok": True, **answer})


def played(skill: Skill, says: dict[str, list[Any]], **arguments: Any) -> Played:
    now = time.time()
    request = SkillRequest.model_validate(
        {
            "request_id": "r1",
            "task_id": "t1",
            "robot": ROBOT.name,
            "skill": skill,
            "created_at": now,
            "deadline": now + 60,
            "arguments": arguments,
            "grant": "g",
            "reply_to": "q",
        }
    )
    none: Any = None
    return Played(request, ROBOT, SITE, none, none, WorkClock.of(request), says=says)


def to_kitchen(says: dict[str, list[Any]]) -> Played:
    tucked = {"moveit__get_current_pose": [{"joint_positions": TUCKED}]}
    arguments = ApproachArguments(target_area="kitchen", object_name="red coke can", next_action="pick")
    return played(Skill.APPROACH, {**tucked, **says}, **arguments.model_dump())


@pytest.mark.parametrize("code", ["APPROVAL_DENIED", "POLICY_DENIED", "NAVIGATION_CANCELED"])
async def test_no_other_pose_is_tried_after_a_word_of_a_person_or_a_rule(code: str) -> None:
    check = to_kitchen({DRIVE: [code]})
    with pytest.raises(GaveUpError, match=code) as end:
        await approach(check)
    assert end.value.code == "UNKNOWN", "no code after which the check tries other poses"
    assert check.called.count(DRIVE) == 1


@pytest.mark.parametrize("code", ["TIMEOUT", "NAVIGATION_FAILED"])
async def test_a_drive_is_made_again_only_where_its_end_is_known(code: str) -> None:
    check = to_kitchen({DRIVE: [code]})
    with pytest.raises((VerificationError, GaveUpError)) as end:
        await approach(check)
    if code == "TIMEOUT":
        assert isinstance(end.value, VerificationError)
        assert end.value.uncertain
    assert check.called.count(DRIVE) == (1 if code == "TIMEOUT" else 2)


@pytest.mark.parametrize("backs_off", [True, False])
async def test_nothing_is_driven_where_the_arm_cannot_be_tucked(backs_off: bool) -> None:
    """It does not help to back off, or the base does not get back."""
    up = {"joint_positions": {**TUCKED, ROBOT.arm.joints[1]: -1.0}, "pose": ABOVE}
    back = {} if backs_off else "NAVIGATION_FAILED"
    says = {"moveit__get_current_pose": [up], MOVE: ["GOAL_IN_COLLISION"], "nav2__backup_robot": [back]}
    check = to_kitchen(says)
    with pytest.raises(GaveUpError) as end:
        await approach(check)
    assert end.value.code == "NAV_PLAN_FAILED"
    assert DRIVE not in check.called
    assert check.called.count(MOVE) > (1 if backs_off else 0)


def arm_over(says: dict[str, list[Any]]) -> tuple[CodedArm, Played]:
    check = played(Skill.PICK, says, object_name="red coke can")
    return CodedArm(check, failed="PICK_PLAN_FAILED", out_of_reach="PICK_REACH_EXCEEDED"), check


async def test_a_motion_of_unknown_end_is_never_made_again() -> None:
    """A descent that timed out may have pushed the thing: its pose is not known any more."""
    arm, check = arm_over({STRAIGHT: ["TIMEOUT"]})
    with pytest.raises(VerificationError) as end:
        await arm.straight(Pose3D.model_validate(ABOVE))
    assert end.value.uncertain
    assert check.called == [STRAIGHT]


@pytest.mark.parametrize(
    ("code", "calls", "cleared"),
    [
        ("PLANNING_FAILED", 2, 0),
        ("START_IN_COLLISION", 2, 1),
        ("GOAL_IN_COLLISION", 2, 1),
        ("OUT_OF_REACH", 1, 0),
        ("PATH_INCOMPLETE", 1, 0),
    ],
)
async def test_a_motion_that_failed_is_made_once_more_where_that_can_help(code: str, calls: int, cleared: int) -> None:
    """With a table top over the hand no way out was found, and a cleared scene led the arm into the top."""
    arm, check = arm_over({STRAIGHT: [code]})
    assert not (await arm.straight(Pose3D.model_validate(ABOVE))).ok
    assert check.called.count(STRAIGHT) == calls
    assert check.called.count("moveit__clear_planning_scene") == cleared


async def test_what_stopped_the_arm_on_its_way_to_a_pose_is_not_pushed_again() -> None:
    """Three times it hit a table top that no camera showed. The transit pose is tried again: no base moves without."""
    arm, check = arm_over({MOVE: ["EXECUTION_FAILED"]})
    assert not (await arm.above(Pose3D.model_validate(ABOVE), 0.0)).ok
    assert check.called == [MOVE]
    with pytest.raises(GaveUpError):
        await arm.transit()
    assert check.called.count(MOVE) == 3


async def test_what_stopped_the_hand_is_left_straight_up_and_not_pushed_again() -> None:
    """The arm would push a box over that the planner did not see."""
    arm, check = arm_over({STRAIGHT: ["EXECUTION_FAILED", {}]})
    with pytest.raises(GaveUpError) as end:
        await arm.down(Pose3D.model_validate(GRASP), Pose3D.model_validate(ABOVE), 0.4, "the can")
    assert end.value.code == "PICK_PLAN_FAILED"
    assert check.called == [STRAIGHT, STRAIGHT, MOVE]
    down, up, tuck = check.given
    assert (down["position"], up["position"], up["min_fraction"]) == (GRASP["position"], ABOVE["position"], 0.4)
    assert tuck["target"] == {"state_name": ROBOT.arm.transit_state}


async def test_the_way_down_to_a_place_need_not_be_free_to_its_end() -> None:
    """What is held is let go a little higher; a thing that is to be grasped is reached or not."""
    arm, check = arm_over({})
    for least in (0.87, None):
        await arm.down(Pose3D.model_validate(GRASP), Pose3D.model_validate(ABOVE), 0.4, "the floor", least)
    assert [one.get("min_fraction") for one in check.given] == [0.87, None]


async def test_what_is_held_and_cannot_be_lifted_straight_is_brought_to_transit() -> None:
    """The hand does not stay at the table."""
    states = "EMPTY", "HOLDING"
    pose = {"grasp_pose": ABOVE, "pre_grasp_pose": ABOVE, "object_height_m": 0.12, "reachable": True}
    failed = ["PLANNING_FAILED"]
    check = played(
        Skill.PICK,
        {
            "moveit__get_grasp_state": [{"state": one} for one in states],
            "perception__segment_objects": [{"outputs": [SEEN], "status": "SUCCESS"}],
            "perception__get_topdown_grasp_pose": [pose],
            # Down succeeds; straight up does not, nor does any other way there.
            STRAIGHT: [{}, *failed],
            MOVE: [{}, "PLANNING_FAILED", "PLANNING_FAILED", {}],
        },
        object_name="red coke can",
    )
    report = await pick(check)
    assert (report.success, report.held_object_height_m) == (True, 0.12)
    assert check.called[-2:] == [MOVE, "moveit__get_grasp_state"]


@pytest.mark.parametrize(
    ("from_above", "down_to", "openings"),
    [
        ({}, 0.61, [0.2, 0.4]),
        ({"open_position": 0.2}, 0.61, [0.2]),
        ("NO_OBJECTS_FOUND", 0.7, [0.2]),
        ({"reachable": False}, 0.7, [0.2]),
    ],
)
async def test_a_grasp_that_is_not_sure_is_looked_at_from_above(
    from_above: Any, down_to: float, openings: list[float]
) -> None:
    """Where that look gives nothing, the first pose is good enough; fingers that are right are not opened again."""
    first = {"grasp_pose": GRASP, "pre_grasp_pose": ABOVE, "reachable": True, "look_again": True, "open_position": 0.2}
    lower = {**GRASP, "position": [0.6, 0.0, 0.61]}
    nearer = {**first, "grasp_pose": lower, "open_position": 0.4, "look_again": True}
    if isinstance(from_above, dict):
        from_above = {**nearer, **from_above}
    check = played(
        Skill.PICK,
        {
            "moveit__get_grasp_state": [{"state": one} for one in ("EMPTY", "HOLDING")],
            "perception__segment_objects": [{"outputs": [SEEN], "status": "SUCCESS"}],
            "perception__get_topdown_grasp_pose": [first, from_above],
        },
        object_name="red coke can",
        object_id="obj_0123456789ab",
    )
    assert (await pick(check)).success
    calls = list(zip(check.called, check.given, strict=True))
    looks = [given for tool, given in calls if tool == "perception__get_topdown_grasp_pose"]
    assert looks == [{"object_id": "obj_0123456789ab"}, {"object_id": "obj_0123456789ab", "camera": "arm"}]
    opened = [given["position"] for tool, given in calls if tool == "moveit__open_gripper"]
    straight = [given["position"][2] for tool, given in calls if tool == STRAIGHT]
    assert (opened, straight[0]) == (openings, down_to)


async def test_a_grasp_that_stays_too_uncertain_from_above_is_not_tried() -> None:
    pose = {"grasp_pose": GRASP, "pre_grasp_pose": ABOVE, "reachable": True, "look_again": True}
    check = played(
        Skill.PICK,
        {
            "moveit__get_grasp_state": [{"state": "EMPTY"}],
            "perception__segment_objects": [{"outputs": [SEEN], "status": "SUCCESS"}],
            "perception__get_topdown_grasp_pose": [pose, {**pose, "too_uncertain": True, "message": "another side"}],
        },
        object_name="red coke can",
    )
    with pytest.raises(GaveUpError, match="another side") as gave_up:
        await pick(check)
    assert gave_up.value.code == "PICK_PLAN_FAILED"
    assert STRAIGHT not in check.called
    assert check.given[-1]["target_type"] == "named_state"


async def test_what_may_be_in_the_gripper_is_not_searched_for() -> None:
    """Fingers that do not open may hold it."""
    pose = {"grasp_pose": GRASP, "pre_grasp_pose": ABOVE, "object_height_m": 0.12, "reachable": True}
    check = played(
        Skill.PICK,
        {
            "moveit__get_grasp_state": [{"state": one} for one in ("EMPTY", "MOVING")],
            "moveit__open_gripper": [{}, "GRIPPER_FAILED"],
            "perception__segment_objects": [{"outputs": [SEEN], "status": "SUCCESS"}],
            "perception__get_topdown_grasp_pose": [pose],
        },
        object_name="red coke can",
    )
    with pytest.raises(GaveUpError, match="may be in the gripper: GRIPPER_FAILED") as end:
        await pick(check)
    assert end.value.code == "UNKNOWN"
    assert check.called.count("perception__segment_objects") == 1
    assert check.called[-1] == MOVE


SEEN = {"label": "red coke can", "score": 0.9, "box_xyxy": [0, 0, 9, 9], "camera": "arm"}
