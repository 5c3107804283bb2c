"""A procedure that runs with the tools of a request, in place of a model."""

import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from quartet_agent_runtime import RequestContext, ToolOutcome, VerificationError, WorkClock, run_turns
from quartet_contracts import Skill, SkillRequest
from quartet_procedures import Call, GaveUpError, Procedure, Result, approach, carry_out, pick, place
from quartet_site import load_robot, load_site
from support.played_robot import FACTS, Robot, play

HOME = Path(__file__).parents[3] / "deploy" / "sites" / "home"
SITE, ROBOT = load_site(HOME / "site.yaml"), load_robot(HOME / "robot.yaml")
OPEN, STRAIGHT, CLOSE = "moveit__open_gripper", "moveit__plan_cartesian_path", "moveit__close_gripper"
STATE, DETECT, DRIVE = "moveit__get_grasp_state", "perception__detect_objects", "nav2__navigate_to_pose"


@dataclass
class Played(RequestContext):
    """A request whose tools are those of a played robot."""

    played: Robot = field(default_factory=Robot)

    async def outcome(self, tool: str, *, timeout_s: float | None = None, **given: Any) -> ToolOutcome:
        content = self.played(tool, given)
        return ToolOutcome(content, interrupted=content.get("error_code") == "SERVER_LOST")


@pytest.fixture
def context() -> Played:
    now = time.time()
    request = SkillRequest.model_validate(
        {
            "request_id": "r1", "task_id": "t1", "robot": ROBOT.name, "skill": Skill.PICK, "created_at": now,
            "deadline": now + 60, "grant": "g", "reply_to": "q", "arguments": {"object_name": "red coke can"},
        }
    )  # fmt: skip
    none: Any = None
    return Played(request, ROBOT, SITE, none, none, WorkClock.of(request))


def one_turn(*calls: Call) -> Generator[tuple[Call, ...], Any, list[str]]:
    """Make `calls` in one turn and return the codes of their results."""
    results: list[Result] = yield calls
    return [result.code for result in results]


async def test_calls_after_a_failed_one_are_not_run(context: Played) -> None:
    context.played.fail("plan_cartesian_path", "PATH_INCOMPLETE")
    codes = await run_turns(context, one_turn(Call(OPEN), Call(STRAIGHT), Call(CLOSE), Call(STATE)))
    assert codes == ["NONE", "PATH_INCOMPLETE", "NOT_RUN", "NOT_RUN"]
    assert [tool for tool, _ in context.played.calls] == [OPEN, STRAIGHT]


async def test_results_are_those_of_the_tools(context: Played) -> None:
    context.played.held = True
    (state,) = await run_turns(context, carry_out(Call(STATE)))
    assert state.get("state") == "HOLDING"


@pytest.mark.parametrize("tool", [OPEN, STRAIGHT, CLOSE, DRIVE])
async def test_motion_of_unknown_outcome_is_uncertain(context: Played, tool: str) -> None:
    """The orchestrator has to look at the robot before anything else moves it."""
    context.played.fail(tool.rpartition("__")[2], "TIMEOUT")
    with pytest.raises(VerificationError, match=f"{tool}: TIMEOUT: TIMEOUT happened") as end:
        await run_turns(context, carry_out(Call(tool), Call(STATE)))
    assert end.value.uncertain
    assert [tool for tool, _ in context.played.calls] == [tool]


async def test_look_of_unknown_outcome_is_repeated(context: Played) -> None:
    context.played.fail("detect_objects", "TIMEOUT")
    results = await run_turns(context, carry_out(Call(DETECT), Call(STATE)))
    assert [result.ok for result in results] == [True, True]
    assert [tool for tool, _ in context.played.calls] == [DETECT, DETECT, STATE]


@pytest.mark.parametrize("code", ["STOPPED", "FENCED", "DENIED", "BRIDGE_UNAVAILABLE", "SERVER_LOST", "TOOL_ERROR"])
async def test_nothing_follows_a_failure_after_which_no_call_can_succeed(context: Played, code: str) -> None:
    context.played.fail("open_gripper", code)
    with pytest.raises(VerificationError, match=f"{OPEN}: {code}") as end:
        await run_turns(context, carry_out(Call(OPEN), Call(STATE)))
    assert end.value.uncertain == (code in {"FENCED", "SERVER_LOST", "BRIDGE_UNAVAILABLE"})
    assert len(context.played.calls) == 1


@pytest.mark.parametrize("code", ["POLICY_DENIED", "APPROVAL_DENIED", "CANCELED"])
async def test_decision_of_a_person_or_a_rule_gets_out_of_a_part_of_a_procedure(context: Played, code: str) -> None:
    context.played.fail("open_gripper", code)
    with pytest.raises(GaveUpError, match=code) as end:
        await run_turns(context, carry_out(Call(OPEN), Call(STATE)))
    assert (end.value.code, end.value.because) == ("UNKNOWN", code)
    assert len(context.played.calls) == 1


@pytest.mark.parametrize("code", ["APPROVAL_DENIED", "POLICY_DENIED", "NAVIGATION_CANCELED"])
async def test_decision_of_a_person_or_a_rule_is_the_report_of_a_whole_procedure(context: Played, code: str) -> None:
    """UNKNOWN is no code after which the check in code drives to other poses."""
    context.played.fail("navigate_to_pose", code)
    report = await run_turns(context, to_kitchen())
    assert (report["success"], report["error_code"]) == (False, "UNKNOWN")
    assert code in report["reason"]
    assert len(context.played.made("navigate_to_pose")) == 1


def to_kitchen() -> Procedure:
    return approach({"target_area": "kitchen", "object_name": "red can", "next_action": "pick"}, FACTS)


@pytest.mark.parametrize(
    ("begin", "held"),
    [
        (to_kitchen, False),
        (lambda: pick({"object_name": "red can"}, FACTS), False),
        (lambda: place({"target_location": "kitchen counter", "object_name": "red can"}, FACTS), True),
    ],
)
async def test_procedure_makes_the_calls_that_it_makes_with_a_model(context: Played, begin: Any, held: bool) -> None:
    """Also where each tool fails once."""
    for tool in ("", "plan_and_execute", "plan_cartesian_path", "detect_objects", "navigate_to_pose", "open_gripper"):
        here, there = (Robot(held=held).fail(tool, "PLANNING_FAILED") for _ in range(2))
        context.played = here
        assert await run_turns(context, begin()) == play(begin(), there).report
        assert here.calls == there.calls
