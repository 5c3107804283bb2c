"""Trouble, in the one-room world: whatever happens, a task ends in exactly one state, and never in a false success."""

from collections.abc import Callable
from typing import Any

import pytest
import redis

from quartet_contracts import JournalEvent, PickArguments, PlaceArguments, Skill, State
from quartet_contracts.journal import SkillFinished, ToolCalled
from quartet_deployment import ClientError, Stack

pytestmark = pytest.mark.long

Truth = dict[str, Any]
Run = Any


@pytest.fixture(scope="module", autouse=True)
def hasty(stack: Stack) -> None:
    """The orchestrator soon gives up on who does not answer."""
    stack.restart("orchestrator", QUARTET_AGENT_ABSENT_S="5", QUARTET_FENCE_TIMEOUT_S="2")


def test_a_task_in_the_studio(
    stack: Stack,
    run: Callable[..., Run],
    reset: Callable[..., Truth],
    truth: Callable[[Stack], Truth],
    sentence_about: Callable[..., Any],
) -> None:
    sentence, name, target = sentence_about(reset(stack, 1))
    done = run(stack, sentence)
    assert done.status.state is State.SUCCEEDED, done.story()
    assert truth(stack)["objects"][name]["on"] == target
    assert done.ends_once()


def test_an_object_that_nobody_knows_is_told_with_those_that_are_known(
    stack: Stack, run: Callable[..., Run], reset: Callable[..., Truth]
) -> None:
    before = reset(stack, 1)
    done = run(stack, "Put the purple unicorn on the wooden table.")
    assert done.status.state is State.FAILED
    assert done.status.report is not None
    words = done.status.report.model_dump_json()
    assert "unicorn" in words
    assert sorted(before["objects"])[0] in words, "it says what it knows"
    assert done.ends_once()


def test_a_single_skill_ends_in_its_code(stack: Stack, reset: Callable[..., Truth]) -> None:
    reset(stack, 1)
    arguments = PlaceArguments(target_location="wooden table", object_name="red coke can", object_height_m=0.12)
    with stack.api() as api:
        task_id = api.run_skill(Skill.PLACE, arguments).task.task_id
        events = list(api.events(task_id))
        status = api.task(task_id)
    codes = [e.event.error_code for e in events if isinstance(e.event, SkillFinished)]
    assert codes == ["PLACE_HOLDING_NOTHING"]
    assert status.state is State.FAILED


@pytest.mark.long
def test_a_server_that_is_killed_in_a_motion(
    stack: Stack,
    run: Callable[..., Run],
    reset: Callable[..., Truth],
    truth: Callable[[Stack], Truth],
    sentence_about: Callable[..., Any],
) -> None:
    sentence, name, target = sentence_about(reset(stack, 2))
    killed: list[str] = []

    def kill_in_the_first_arm_motion_of_the_pick(event: JournalEvent) -> None:
        what = event.event
        if isinstance(what, ToolCalled) and event.actor == "pick" and what.tool.startswith("moveit__") and not killed:
            stack.kill("moveit")
            killed.append(what.tool)

    done = run(stack, sentence, timeout_s=250.0, on_event=kill_in_the_first_arm_motion_of_the_pick)
    assert killed
    assert done.ends_once(), done.story()
    assert done.status.state is State.FAILED, "the arm is gone for good: nothing can have been carried"
    assert truth(stack)["objects"][name]["on"] != target
    assert "moveit" in done.status.report.model_dump_json(), "the person reads what was missing"
    stack.restart("moveit")
    sentence, name, target = sentence_about(reset(stack, 2))
    again = run(stack, sentence)
    assert again.status.state is State.SUCCEEDED, again.story()
    assert truth(stack)["objects"][name]["on"] == target


def test_a_canceled_task_halts_and_ends(
    stack: Stack,
    run: Callable[..., Run],
    reset: Callable[..., Truth],
    truth: Callable[[Stack], Truth],
    sentence_about: Callable[..., Any],
) -> None:
    sentence, _, _ = sentence_about(reset(stack, 3))
    asked: list[str] = []

    def cancel_in_the_first_drive(event: JournalEvent) -> None:
        if isinstance(event.event, ToolCalled) and event.event.tool.startswith("nav2__") and not asked:
            asked.append(event.task_id)
            with stack.api() as api:
                api.cancel(event.task_id, "a test")

    done = run(stack, sentence, on_event=cancel_in_the_first_drive)
    assert asked
    assert done.status.state is State.CANCELED, done.story()
    assert done.ends_once()
    assert max(abs(speed) for speed in truth(stack)["robot"]["twist"]) < 0.02
    with stack.api() as api, pytest.raises(ClientError, match=done.status.task.task_id):
        # A terminal state is final.
        api.answer(done.status.task.task_id, "go on")


def test_a_model_that_talks_nonsense_now_and_then(
    stack: Stack,
    run: Callable[..., Run],
    reset: Callable[..., Truth],
    truth: Callable[[Stack], Truth],
    sentence_about: Callable[..., Any],
) -> None:
    rates = (
        '{"malformed_json": 0.1, "unknown_tool": 0.1, "hallucinated_object": 0.05, "empty": 0.05, "rate_limit": 0.05}'
    )
    stack.restart("scripted_model", QUARTET_MISBEHAVE=rates, QUARTET_MISBEHAVE_SEED="3")
    try:
        sentence, name, target = sentence_about(reset(stack, 4))
        done = run(stack, sentence)
        world = truth(stack)
    finally:
        stack.restart("scripted_model", QUARTET_MISBEHAVE="{}")
    assert done.ends_once(), done.story()
    assert (done.status.state is State.SUCCEEDED) <= (world["objects"][name]["on"] == target), "a false success"


@pytest.mark.parametrize("kind", ["empty", "refusal", "malformed_json", "repetition"])
def test_a_model_that_talks_nothing_but_nonsense(
    stack: Stack, run: Callable[..., Run], reset: Callable[..., Truth], kind: str, sentence_about: Callable[..., Any]
) -> None:
    stack.restart("scripted_model", QUARTET_MISBEHAVE=f'{{"{kind}": 1.0}}')
    try:
        sentence, _, _ = sentence_about(reset(stack, 5))
        done = run(stack, sentence, timeout_s=250.0)
    finally:
        stack.restart("scripted_model", QUARTET_MISBEHAVE="{}")
    assert done.status.state is State.FAILED, done.story()
    assert done.ends_once()
    assert done.status.report is not None
    assert len(done.status.report.summary) > 20, "the person reads why"


def test_a_gateway_without_the_key_of_its_provider(
    stack: Stack, run: Callable[..., Run], reset: Callable[..., Truth], sentence_about: Callable[..., Any]
) -> None:
    stack.restart("gateway", QUARTET_MODEL="openai/gpt-4.1")
    try:
        sentence, _, _ = sentence_about(reset(stack, 5))
        done = run(stack, sentence, timeout_s=250.0)
    finally:
        stack.restart("gateway", QUARTET_MODEL="")
    assert done.status.state is State.FAILED, done.story()
    assert done.ends_once()
    assert "OPENAI_API_KEY" in done.status.report.summary, done.status.report.summary


def test_an_agent_that_is_not_there(stack: Stack, run: Callable[..., Run], reset: Callable[..., Truth]) -> None:
    reset(stack, 5)
    stack.kill("pick")
    with redis.Redis.from_url(stack.redis_url) as store:
        # For a lease's time it would count as alive.
        assert store.delete("quartet:skill:pick:present")
    with stack.api() as api:
        task_id = api.run_skill(Skill.PICK, PickArguments(object_name="red coke can")).task.task_id
        events = list(api.events(task_id))
        status = api.task(task_id)
    assert status.state is State.FAILED
    assert status.report is not None
    assert "pick" in status.report.summary
    codes = [e.event.error_code for e in events if isinstance(e.event, SkillFinished)]
    assert codes in ([], ["UNKNOWN"])
