"""What a person reads of a journal."""

import io
import json
from typing import Any

import pytest
from rich.console import Console

from quartet_cli.story import JsonRenderer, StoryRenderer
from quartet_contracts import JournalEvent, State, Task, TaskReport, TaskStatus

STATUS = TaskStatus(
    task=Task(task_id="t1", sentence="fetch the can", robot="summit", created_at=100.0, deadline=200.0, budget={}),
    state=State.RUNNING,
    updated_at=100.0,
)


def event(actor: str, **fields: Any) -> JournalEvent:
    return JournalEvent.model_validate({"task_id": "t1", "actor": actor, "at": 103.5, "event": fields})


def told(*events: JournalEvent, verbose: bool = False, end: TaskStatus | None = None) -> str:
    out = io.StringIO()
    renderer = StoryRenderer(Console(file=out, width=200, highlight=False), verbose)
    renderer.begin(STATUS)
    for one in events:
        renderer.render(one)
    if end:
        renderer.end(end)
    return out.getvalue()


def test_the_first_thing_the_orchestrator_says_is_the_plan() -> None:
    text = told(event("orchestrator", kind="model_turn", turn=1, text="| can | kitchen | table |", tools=["approach"]))
    assert "orchestrator plan" in text
    assert "| can | kitchen | table |" in text


def test_a_drive_is_told_with_its_duration() -> None:
    text = told(
        event("approach", kind="tool_call", call_id="c", tool="nav2__navigate_to_pose", arguments={"x": 1, "y": 2}),
        event("approach", kind="tool_result", call_id="c", tool="nav2__navigate_to_pose", ok=True, duration_s=4.25),
    )
    assert "3.5 s approach     drives to x 1.00 m, y 2.00 m on the map  ✓ 4.2 s" in text


def test_a_failed_call_is_told_with_code_and_message_even_when_it_is_a_quiet_tool() -> None:
    call = {"call_id": "c", "tool": "moveit__get_grasp_state"}
    text = told(
        event("pick", kind="tool_call", arguments={}, **call),
        event("pick", kind="tool_result", ok=False, error_code="ROS_ERROR", text="no answer", **call),
    )
    assert "✗ ROS_ERROR  no answer" in text


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ('{"ok":false,"error_code":"STOPPED","message":"a person pressed stop"}', "STOPPED  a person pressed stop"),
        ('{"ok":false,"message":""}', '{"ok":false,"message":""}'),
        ("[1, 2]", "STOPPED  [1, 2]"),
    ],
)
def test_of_a_failed_result_its_message_is_told_and_all_of_it_when_verbose(result: str, said: str) -> None:
    call = {"call_id": "c", "tool": "nav2__navigate_to_pose"}
    failed = event("approach", kind="tool_result", ok=False, error_code="STOPPED", text=result, **call)
    assert said in told(failed)
    assert result in told(failed, verbose=True)


def test_quiet_tools_and_turns_are_told_only_when_verbose() -> None:
    call = {"call_id": "c", "tool": "nav2__get_robot_pose"}
    events = (
        event("approach", kind="model_turn", turn=3, text="I think so", tools=["nav2__get_robot_pose"], model="m"),
        event("approach", kind="tool_call", arguments={}, **call),
        event("approach", kind="tool_result", ok=True, text="{x: 1}", **call),
    )
    brief, whole = told(*events), told(*events, verbose=True)
    assert "reads where it stands" not in brief
    assert "I think so" not in brief
    assert "reads where it stands" in whole
    assert "I think so" in whole
    assert "nav2__get_robot_pose {}" in whole


def test_skills_questions_and_overridden_claims_are_told() -> None:
    text = told(
        event(
            "orchestrator",
            kind="skill_requested",
            request_id="r",
            skill="pick",
            attempt=2,
            fence=3,
            arguments={"object_name": "can"},
        ),
        event(
            "pick",
            kind="skill_result",
            request_id="r",
            skill="pick",
            success=False,
            error_code="PICK_SEG_MISSED",
            reason="not seen",
            state="FAILED",
        ),
        event("approach", kind="verified", claimed="NONE", settled="NAV_VERIFY_OVERRIDE", note="1.6 m away"),
        event("pick", kind="verified", claimed="UNKNOWN", settled="NONE"),
        event("orchestrator", kind="question", question_id="q", text="Which can?", expires_at=999.0),
    )
    assert "→ pick: pick up the can (attempt 2)" in text
    assert "✗ PICK_SEG_MISSED: not seen" in text
    assert "reported as done, but the check does not confirm it (NAV_VERIFY_OVERRIDE): 1.6 m away" in text
    assert "reported as UNKNOWN, but the check finds it done" in text
    assert "asks: Which can?" in text


@pytest.mark.parametrize(
    ("state", "words"), [(State.SUCCEEDED, "Done"), (State.FAILED, "Not done"), (State.CANCELED, "Canceled")]
)
def test_the_end_names_the_outcome_of_every_object(state: State, words: str) -> None:
    report = TaskReport(
        success=state == State.SUCCEEDED,
        summary="One of two.",
        objects=[
            {"object_name": "can", "target": "table", "completed": True},
            {"object_name": "cup", "completed": False, "error_code": "PICK_SEG_MISSED", "reason": "not there"},
        ],
    )
    text = told(end=STATUS.model_copy(update={"state": state, "report": report, "updated_at": 112.0}))
    assert f"{words} after 12.0 s" in text
    assert "✓ can → table" in text
    assert "✗ cup  PICK_SEG_MISSED not there" in text


def test_what_the_summary_has_said_is_not_said_again() -> None:
    cup = {"object_name": "cup", "completed": False, "error_code": "UNKNOWN", "reason": "I know no cup."}
    report = TaskReport(success=False, summary="0 of 1 done. cup: not done (UNKNOWN): I know no cup.", objects=[cup])
    text = told(end=STATUS.model_copy(update={"state": State.FAILED, "report": report}))
    assert text.count("I know no cup.") == 1
    assert "✗ cup  UNKNOWN" in text


def test_on_a_terminal_long_lines_are_broken_between_words_below_their_own_text() -> None:
    out = io.StringIO()
    renderer = StoryRenderer(Console(file=out, width=80, force_terminal=True, color_system=None, highlight=False))
    renderer.begin(STATUS)
    renderer.render(event("orchestrator", kind="note", text="words " * 20 + "end"))
    first, *others = out.getvalue().splitlines()[1:]
    assert first.startswith("    3.5 s orchestrator words")
    assert [line[:24] for line in others] == [" " * 23 + "w"] * len(others)
    assert " ".join(" ".join([first, *others]).split()).endswith("words " * 20 + "end")
    assert max(map(len, [first, *others])) <= 80


@pytest.mark.parametrize("width", [30, 40, 62])
def test_on_a_narrow_terminal_no_word_is_broken_and_none_is_lost(width: int) -> None:
    out = io.StringIO()
    renderer = StoryRenderer(Console(file=out, width=width, force_terminal=True, color_system=None, highlight=False))
    renderer.begin(STATUS)
    text = "searches for something that is written at length " * 5 + "end"
    renderer.render(event("orchestrator", kind="model_turn", turn=1, text=text, tools=["approach"]))
    report = TaskReport(success=False, summary="the site has no such area; it has a kitchen and a hallway")
    renderer.end(STATUS.model_copy(update={"state": State.FAILED, "report": report, "updated_at": 112.0}))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    told = " ".join(" ".join(lines).split())
    assert f"3.5 s orchestrator plan {text}" in told
    assert "Not done after 12.0 s the site has no such area; it has a kitchen and a hallway" in told


def test_where_there_is_no_terminal_a_line_stays_a_line() -> None:
    assert "words " * 60 + "end" in told(event("orchestrator", kind="note", text="words " * 60 + "end"))


def test_markup_in_a_models_text_is_not_interpreted() -> None:
    text = told(event("orchestrator", kind="note", text="[bold]x[/bold] [/nonsense]"))
    assert "[bold]x[/bold] [/nonsense]" in text


def test_json_lines_are_events_and_statuses() -> None:
    out = io.StringIO()
    renderer = JsonRenderer(out)
    renderer.begin(STATUS)
    renderer.render(event("pick", kind="note", text="hm"))
    renderer.end(STATUS)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line.get("state", line.get("event", {}).get("kind")) for line in lines] == ["RUNNING", "note", "RUNNING"]


def test_a_task_that_changed_hands_says_so_and_what_was_seen() -> None:
    seen = {"request_id": "r", "skill": "pick", "state": "RETRIABLE", "reason": "lost"}
    text = told(
        event("orchestrator", kind="taken_over", replica="b", epoch=2),
        event("orchestrator", kind="skill_settled", grasp="HOLDING", in_hand="red coke can", **seen),
    )
    assert "goes on with the task where its journal ends" in text
    assert "looks at how pick was left, the gripper is HOLDING (red coke can)" in text
