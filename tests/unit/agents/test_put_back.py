"""What was picked by mistake is put back where it was taken from, or stays in the gripper."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from quartet_agent_runtime import RequestContext, ToolOutcome, VerificationError, WorkClock, failure
from quartet_contracts import PickReport, Skill, SkillRequest
from quartet_pick.verify import verify
from quartet_site import load_robot, load_site

HOME = Path(__file__).parents[3] / "deploy" / "sites" / "home"
SITE, ROBOT = load_site(HOME / "site.yaml"), load_robot(HOME / "robot.yaml")
TAKEN = {"frame_id": "odom", "position": [2.0, 1.0, 0.9], "orientation": [1.0, 0.0, 0.0, 0.0]}
TUCKED = dict(zip(ROBOT.arm.joints, ROBOT.arm.named_states[ROBOT.arm.transit_state], strict=True))
STRAIGHT, MOVE = "moveit__plan_cartesian_path", "moveit__plan_and_execute"
OPEN, STATE = "moveit__open_gripper", "moveit__get_grasp_state"


@dataclass
class Hand(RequestContext):
    """A hand that closed on something green; `says` has the failures of each tool, in turn."""

    grasp_age_s: float | None = 0.0
    """Time since then; None: the server does not tell where that was."""
    says: dict[str, list[str]] = field(default_factory=dict)
    lost_after: str = ""
    """What is held falls out of the hand with this tool."""
    tucked: bool = True
    stuck: bool = False
    """The arm does not get up from where it is."""
    holds: bool = True
    made: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def outcome(self, tool: str, *, timeout_s: float | None = None, **given: Any) -> ToolOutcome:
        self.made.append((tool, given))
        if code := (self.says.get(tool) or [""]).pop(0):
            return failure(code, "so it is")
        if self.stuck and tool in {STRAIGHT, MOVE}:
            return failure("EXECUTION_FAILED", "it does not move")
        if tool in {OPEN, self.lost_after}:
            self.holds = False
        if tool == "moveit__get_current_pose":
            pose = {"frame_id": "base_footprint", "position": [0.6, 0.0, 0.7], "orientation": [1.0, 0.0, 0.0, 0.0]}
            return ToolOutcome({"ok": True, "pose": pose, "joint_positions": TUCKED if self.tucked else {}})
        if tool == "perception__detect_objects":
            one = {"label": "green tea box", "score": 0.9, "box_xyxy": [0, 0, 1, 1], "camera": "arm"}
            shown = [] if given.get("names") else [{**one, "in_gripper": True}]
            return ToolOutcome({"ok": True, "detections": shown})
        if tool != STATE:
            return ToolOutcome({"ok": True})
        grasped = None if self.grasp_age_s is None else {"tool_pose": TAKEN, "age_s": self.grasp_age_s}
        held = {"state": "HOLDING", "width_m": 0.066, "effort_n": 20.0, "grasped": grasped}
        return ToolOutcome({"ok": True, **(held if self.holds else {"state": "EMPTY", "width_m": 0.0})})

    def poses(self) -> list[tuple[str, float]]:
        """Return each motion to a pose: the tool and the height [m]."""
        return [
            (tool, (given.get("target") or given)["position"][2])
            for tool, given in self.made
            if tool in {STRAIGHT, MOVE} and "state_name" not in given.get("target", {})
        ]


def hand(says: dict[str, list[str]] | None = None, **more: Any) -> Hand:
    now = time.time()
    request = SkillRequest.model_validate(
        {
            "request_id": "r1", "task_id": "t1", "robot": ROBOT.name, "skill": Skill.PICK, "created_at": now,
            "deadline": now + 600, "grant": "g", "reply_to": "q", "arguments": {"object_name": "red coke can"},
        }
    )  # fmt: skip
    none: Any = None
    return Hand(request, ROBOT, SITE, none, none, WorkClock.of(request), says=says or {}, **more)


CLAIM = PickReport(success=True, error_code="NONE", reason="held", held_object_height_m=0.1)


async def test_what_was_picked_by_mistake_is_put_back_from_above() -> None:
    check = hand()
    report = await verify(check, CLAIM)
    assert (report.error_code, report.held_object, report.held_object_height_m) == ("PICK_WRONG_OBJECT", None, None)
    assert report.reason.startswith("between the fingers is 'green tea box'")
    assert report.reason.endswith("it was put back where it was taken from, and the gripper is empty")
    assert check.put_back
    assert ("perception__detect_objects", {"names": ["red coke can"], "mistaken": True}) in check.made
    assert check.poses() == [(MOVE, 1.1), (STRAIGHT, pytest.approx(0.91)), (STRAIGHT, 1.1)]
    frames = {(given.get("target") or given).get("frame_id") for tool, given in check.made if tool in {STRAIGHT, MOVE}}
    assert frames == {"odom", None}, "the base may have backed off since"
    *_, last = (given for tool, given in check.made if tool == MOVE)
    assert last["target"] == {"state_name": ROBOT.arm.transit_state}


async def test_what_a_model_tells_as_another_thing_is_put_back_too() -> None:
    check = hand()
    claim = PickReport(success=False, error_code="PICK_WRONG_OBJECT", reason="a tea box", held_object="green tea box")
    report = await verify(check, claim)
    assert check.put_back
    assert report.held_object is None
    assert not any("mistaken" in given for _, given in check.made), "a model may err: it may be picked again"


async def test_what_only_a_look_elsewhere_tells_to_be_another_thing_may_be_picked_again() -> None:
    """What stands there may be what only looks like the wanted one."""
    check = hand()
    answer = check.outcome

    async def seen_elsewhere(tool: str, **given: Any) -> ToolOutcome:
        if tool != "perception__detect_objects":
            return await answer(tool, **given)
        check.made.append((tool, given))
        one = {"label": "red coke can", "score": 0.9, "box_xyxy": [0, 0, 1, 1], "camera": "front"}
        return ToolOutcome({"ok": True, "detections": [one] if given.get("camera") == "front" else []})

    check.outcome = seen_elsewhere  # type: ignore[method-assign]
    report = await verify(check, CLAIM)
    assert (report.error_code, check.put_back) == ("PICK_WRONG_OBJECT", True)
    assert "still seen" in report.reason
    assert not any("mistaken" in given for _, given in check.made)


async def test_a_server_that_does_not_take_in_the_mistake_changes_nothing_of_the_result() -> None:
    check = hand()
    answer = check.outcome

    async def too_old(tool: str, **given: Any) -> ToolOutcome:
        return failure("TOOL_ERROR", "no argument 'mistaken'") if "mistaken" in given else await answer(tool, **given)

    check.outcome = too_old  # type: ignore[method-assign]
    report = await verify(check, CLAIM)
    assert check.put_back
    assert (report.error_code, report.held_object) == ("PICK_WRONG_OBJECT", None)


async def test_what_stands_again_is_left_out_though_the_arm_does_not_get_back() -> None:
    check = hand()
    answer = check.outcome

    async def stops(tool: str, **given: Any) -> ToolOutcome:
        state = given.get("target", {}).get("state_name")
        return failure("TIMEOUT", "no answer", interrupted=True) if state else await answer(tool, **given)

    check.outcome = stops  # type: ignore[method-assign]
    with pytest.raises(VerificationError):
        await verify(check, CLAIM)
    assert check.put_back
    assert any("mistaken" in given for _, given in check.made)


@pytest.mark.parametrize(
    ("says", "why"),
    [
        ({MOVE: ["OUT_OF_REACH"]}, "OUT_OF_REACH"),
        ({STRAIGHT: ["PATH_INCOMPLETE"]}, "PATH_INCOMPLETE"),
        ({OPEN: ["GRIPPER_FAILED"] * 2}, "could not be let go"),
        ({MOVE: ["CANCELED"]}, "CANCELED"),
        ({OPEN: ["WRONG_PHASE"]}, "could not be let go"),
    ],
)
async def test_what_cannot_be_put_back_stays_in_the_gripper(says: dict[str, list[str]], why: str) -> None:
    check = hand(says)
    report = await verify(check, CLAIM)
    assert (report.error_code, report.held_object) == ("PICK_WRONG_OBJECT", "green tea box")
    assert why in report.reason
    assert (check.put_back, check.holds) == (False, True)
    assert not any("mistaken" in given for _, given in check.made), "what is held stands nowhere"
    if OPEN in says:
        assert check.poses()[-1] == (STRAIGHT, 1.1), "the hand does not stay among things"


async def test_after_a_person_has_canceled_the_opening_nothing_moves() -> None:
    check = hand({OPEN: ["CANCELED"]})
    report = await verify(check, CLAIM)
    assert "CANCELED" in report.reason
    assert check.poses()[-1] == (STRAIGHT, pytest.approx(0.91)), "the hand stays where the person stopped it"


async def test_an_arm_that_does_not_get_away_is_told_and_has_put_it_back() -> None:
    check = hand({STRAIGHT: ["", "PATH_INCOMPLETE"], MOVE: ["", "OUT_OF_REACH", "PLANNING_FAILED", "PLANNING_FAILED"]})
    report = await verify(check, CLAIM)
    assert check.put_back
    assert "put back where it was taken from, and the gripper is empty, but the arm did not reach" in report.reason


async def test_what_falls_on_the_way_is_not_told_as_put_back() -> None:
    check = hand(lost_after=STRAIGHT)
    report = await verify(check, CLAIM)
    assert "lost on the way back" in report.reason
    assert (check.put_back, report.held_object) == (False, None)
    assert check.poses()[-1] == (STRAIGHT, 1.1), "the arm leaves straight up"
    assert OPEN not in [tool for tool, _ in check.made]


@pytest.mark.parametrize("age_s", [60.0, None])
async def test_what_another_request_grasped_or_nobody_knows_where_is_left_in_the_gripper(age_s: float | None) -> None:
    """The base may have driven through the whole home since."""
    check = hand(grasp_age_s=age_s)
    report = await verify(check, CLAIM)
    assert (report.error_code, report.held_object) == ("PICK_WRONG_OBJECT", "green tea box")
    assert not check.poses()


async def test_fingers_that_meet_a_neighbour_have_let_go_all_the_same() -> None:
    check = hand()
    answer = check.outcome

    async def blocked(tool: str, **given: Any) -> ToolOutcome:
        outcome = await answer(tool, **given)
        return failure("GRIPPER_FAILED", "0.100 m wide") if tool == OPEN else outcome

    check.outcome = blocked  # type: ignore[method-assign]
    report = await verify(check, CLAIM)
    assert check.put_back
    assert report.held_object is None


async def test_a_hand_that_is_still_among_things_goes_straight_up_first() -> None:
    check = hand(tucked=False)
    await verify(check, PickReport(success=False, error_code="PICK_WRONG_OBJECT", reason="a tea box"))
    assert check.poses()[0] == (STRAIGHT, pytest.approx(0.7 + ROBOT.manipulation.lift_height_m))
    assert check.put_back


async def test_a_hand_that_does_not_get_up_swings_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quartet_agent_runtime._retreat.RETRY_S", 0.0)
    check = hand(tucked=False, stuck=True)
    report = await verify(check, PickReport(success=False, error_code="PICK_WRONG_OBJECT", reason="a tea box"))
    assert "did not get up" in report.reason
    assert {tool for tool, _ in check.poses()} == {STRAIGHT}


async def test_nothing_is_begun_when_the_time_is_nearly_over() -> None:
    check = hand()
    check.clock = WorkClock(20, 20)
    report = await verify(check, CLAIM)
    assert "no time to put it back" in report.reason
    assert (report.held_object, check.poses()) == ("green tea box", [])


async def test_the_fingers_open_no_wider_than_they_must() -> None:
    check = hand()
    await verify(check, CLAIM)
    [given] = [given for tool, given in check.made if tool == OPEN]
    assert ROBOT.gripper.width_at(given["position"]) == pytest.approx(0.066 + 0.04)


async def test_a_motion_of_unknown_end_leaves_the_outcome_open() -> None:
    with pytest.raises(VerificationError) as end:
        await verify(hand({STRAIGHT: ["TIMEOUT"]}), CLAIM)
    assert end.value.uncertain
