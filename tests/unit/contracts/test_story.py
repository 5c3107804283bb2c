"""A journal told in words, whoever shows it."""

from typing import Any

from quartet_contracts import JournalEvent
from quartet_contracts.story import Narration, Narrator


def event(actor: str, request_id: str | None = None, **fields: Any) -> JournalEvent:
    content = {"task_id": "t1", "actor": actor, "at": 3.5, "event": fields, "request_id": request_id}
    return JournalEvent.model_validate(content)


def words(told: Narration) -> list[str]:
    return ["".join(span.text for span in line.spans) for line in told.lines]


def test_a_result_is_told_with_the_words_of_its_own_call() -> None:
    """Every agent counts the calls of its checks from one: the same id in two loops is two calls."""
    narrator = Narrator()
    drive = {
        "kind": "tool_call",
        "call_id": "verify_1",
        "tool": "nav2__navigate_to_pose",
        "arguments": {"x": 1, "y": 2},
    }
    other = {**drive, "arguments": {"x": 3, "y": 4}}
    done = {"kind": "tool_result", "call_id": "verify_1", "tool": "nav2__navigate_to_pose", "ok": True, "duration_s": 1}
    assert narrator.tell(event("approach", "r1", **drive)).now is not None
    narrator.tell(event("approach", "r2", **other))
    assert words(narrator.tell(event("approach", "r1", **done))) == ["drives to (1.00, 2.00)  ✓ 1.0 s"]
    assert words(narrator.tell(event("approach", "r2", **done))) == ["drives to (3.00, 4.00)  ✓ 1.0 s"]


def test_the_plan_is_told_once_as_it_was_written_and_later_words_in_one_line() -> None:
    narrator = Narrator()
    turn = {"kind": "model_turn", "turn": 1, "text": "Plan:\n| can | table |"}
    (plan,) = narrator.tell(event("orchestrator", **turn)).lines
    assert (plan.spans[0].text, plan.body) == ("plan", "Plan:\n| can | table |")
    (later,) = narrator.tell(event("orchestrator", **turn)).lines
    assert (later.spans[0].text, later.body) == ("Plan: | can | table |", "")


def test_what_is_shown_of_the_moment_is_no_line() -> None:
    told = Narrator().tell(event("pick", kind="tool_call", call_id="c", tool="moveit__open_gripper", arguments={}))
    assert told.lines == ()
    assert told.now is not None
    assert (told.now.actor, told.now.text) == ("pick", "opens the gripper")


def test_text_of_the_world_stays_one_line_of_text() -> None:
    (line,) = Narrator().tell(event("orchestrator", kind="note", text="<img onerror=x>\n\n[bold] a  b")).lines
    assert line.spans[0].text == "<img onerror=x> [bold] a b"
    assert line.tone == "notice"
