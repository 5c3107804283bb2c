"""What a journal tells whoever takes a task over."""

from pathlib import Path
from typing import Any

import pytest

from quartet_contracts import IllegalTransitionError, JournalEvent, PickArguments, Skill, State, Usage
from quartet_contracts.journal import (
    Answered,
    Asked,
    ModelTurn,
    SkillFinished,
    SkillRequested,
    SkillSettled,
    StateChanged,
    ToolCalled,
    ToolReturned,
)
from quartet_orchestrator.recovery.history import read_history
from quartet_orchestrator.tasks.facts import GripperContent, TaskFacts
from quartet_orchestrator.tasks.names import SiteNames
from quartet_site import load_site

NAMES = SiteNames(load_site(Path(__file__).parents[3] / "deploy" / "sites" / "home" / "site.yaml"))
CAN = {"object_name": "red coke can"}
BEGUN = [StateChanged(state=State.INITIALIZING), StateChanged(state=State.RUNNING), ModelTurn(turn=1, tools=["pick"])]
CALLED = ToolCalled(call_id="c", tool="pick", arguments=CAN)
RETURNED = ToolReturned(call_id="c", tool="pick", ok=True)
LOOKED = [ToolCalled(call_id="l", tool="look", arguments={}), ToolReturned(call_id="l", tool="look", ok=True)]


def asked(number=1, attempt=1):
    return SkillRequested(request_id=f"r{number}", skill="pick", attempt=attempt, fence=number, arguments=CAN)


def finished(number=1, state=State.SUCCEEDED, code="NONE", **details):
    return SkillFinished(
        request_id=f"r{number}",
        skill="pick",
        success=code == "NONE",
        error_code=code,
        reason="because",
        state=state,
        usage=Usage(tool_calls=3),
        details=details,
    )


def settled(grasp="HOLDING", in_hand="red coke can", state=State.RETRIABLE):
    return SkillSettled(
        request_id="r1", skill="pick", state=state, reason="looked", observed="seen", grasp=grasp, in_hand=in_hand
    )


def history(*happenings, request_id=None):
    return read_history(
        JournalEvent(task_id="t", actor="orchestrator", at=float(n), event=h, request_id=request_id)
        for n, h in enumerate(happenings)
    )


def ledger_of(past):
    facts = TaskFacts(NAMES)
    facts.restore(past, "t")
    return facts


def test_nothing_yet():
    assert not history().started
    assert history().last is None


def test_an_open_request_is_the_last_attempt():
    past = history(*BEGUN, CALLED, asked())
    assert past.started
    assert past.last.open
    assert past.last.skill is Skill.PICK
    assert past.last.arguments == PickArguments(**CAN)
    assert ledger_of(past).gripper is GripperContent.UNSEEN, "what the model has not been told is not in the record yet"


def test_a_result_that_the_model_has_not_got_is_ready():
    past = history(*BEGUN, CALLED, asked(), finished(held_object_height_m=0.1))
    assert not past.last.open
    result: Any = past.last.result("t")
    assert (result.success, result.held_object_height_m, result.tool_calls_used) == (True, 0.1, 3)


def test_a_result_that_the_model_has_is_in_the_record():
    past = history(*BEGUN, CALLED, asked(), finished(), RETURNED)
    assert past.last is None
    assert ledger_of(past).held == "red coke can"
    assert past.usage.tool_calls == 3


def test_an_unknown_outcome_is_open_until_somebody_has_looked():
    lost = finished(state=State.UNCERTAIN, code="UNKNOWN", observed="by the table")
    assert history(*BEGUN, CALLED, asked(), lost).last.open
    past = history(*BEGUN, CALLED, asked(), lost, settled())
    assert not past.last.open
    result = past.last.result("t")
    assert (result.reason, result.observed, result.state) == ("looked", "seen", State.UNCERTAIN)
    known = ledger_of(history(*BEGUN, CALLED, asked(), lost, settled(), RETURNED))
    assert (known.gripper, known.held, known.look_needed) == (GripperContent.OBJECT, "red coke can", False)
    blind = ledger_of(history(*BEGUN, CALLED, asked(), lost, settled("", "", State.UNCERTAIN), RETURNED))
    assert blind.look_needed, "where nothing could be seen the model has to look"


def test_what_nobody_had_begun_is_asked_for_anew():
    past = history(*BEGUN, CALLED, asked(), finished(state=State.RETRIABLE, code="UNKNOWN"))
    assert past.last is None
    assert len(past.attempts) == 1
    again = history(*BEGUN, CALLED, asked(), finished(state=State.RETRIABLE, code="UNKNOWN"), asked(2, 2))
    assert again.last.requested.request_id == "r2"


def test_the_first_end_of_a_request_stands():
    past = history(*BEGUN, CALLED, asked(), finished(), finished(code="UNKNOWN", state=State.FAILED))
    assert past.last.result("t").success


def test_looks_are_remembered():
    lost = finished(state=State.UNCERTAIN, code="UNKNOWN")
    blind = settled("", "", State.UNCERTAIN)
    assert not ledger_of(history(*BEGUN, CALLED, asked(), lost, blind, RETURNED, *LOOKED)).look_needed
    assert ledger_of(history(*BEGUN, *LOOKED)).looked


def test_a_question_is_open_until_the_model_has_its_answer():
    question = Asked(question_id="q1", text="Which?", expires_at=9.0)
    answer = Answered(question_id="q1", text="the red one")
    call = ToolCalled(call_id="q", tool="ask_person", arguments={})
    assert history(*BEGUN, call, question).question.event == question
    assert history(*BEGUN, call, question, answer).answer == answer
    told = history(*BEGUN, call, question, answer, ToolReturned(call_id="q", tool="ask_person", ok=True))
    assert (told.question, told.answer) == (None, None)


def test_a_question_whose_time_is_over_is_unanswered_also_that_of_an_approval():
    question = Asked(question_id="q1", text="Which?", expires_at=9.0)
    answer = Answered(question_id="q1", text="the red one")
    assert history(*BEGUN, question).unanswered(9.0) == {"q1": "Which?"}
    assert history(question, request_id="r1").unanswered(9.0) == {"q1": "Which?"}
    assert history(*BEGUN, question, answer).unanswered(9.0) == {}
    assert history(*BEGUN, question).unanswered(8.9) == {}


def test_how_long_a_question_waits_is_told_by_no_clock_but_that_of_redis():
    """Who asked had a clock that is an hour ahead."""
    question = Asked(question_id="q1", text="Which?", expires_at=3660.0)
    past = read_history(
        [JournalEvent(task_id="t", actor="orchestrator", at=3600.0, event=question, position="10000-0")]
    )
    assert past.unanswered(69.9) == {}
    assert past.unanswered(70.0) == {"q1": "Which?"}


def test_events_of_sub_agents_are_theirs():
    past = history(*BEGUN, CALLED, RETURNED, request_id="r1")
    assert past.loop == []
    assert not past.started


WAYS = [
    ([], ["INITIALIZING"]),
    ([finished()], ["INITIALIZING", "RUNNING", "SUCCEEDED"]),
    ([finished(code="UNKNOWN", state=State.FAILED)], ["INITIALIZING", "RUNNING", "FAILED"]),
    ([finished(code="UNKNOWN", state=State.CANCELED)], ["INITIALIZING", "RUNNING", "CANCELING", "CANCELED"]),
    ([finished(code="UNKNOWN", state=State.RETRIABLE)], ["INITIALIZING", "UNCERTAIN", "RETRIABLE"]),
    (
        [finished(code="UNKNOWN", state=State.UNCERTAIN), settled()],
        ["INITIALIZING", "RUNNING", "UNCERTAIN", "RETRIABLE"],
    ),
]


def test_a_step_goes_through_the_states_of_the_machine():
    for happenings, way in WAYS:
        assert history(*BEGUN, CALLED, asked(), *happenings).attempts[0].states == way


def test_a_step_that_succeeded_is_not_settled_afterwards():
    with pytest.raises(IllegalTransitionError, match="step r1 cannot go from SUCCEEDED to RETRIABLE"):
        _ = history(*BEGUN, CALLED, asked(), finished(), settled()).attempts[0].states


def test_what_the_model_reads_within_its_own_work_is_not_the_result_of_the_attempt():
    own = asked().model_copy(update={"own": True})
    tool = ToolReturned(call_id="n", tool="moveit__open_gripper", ok=True)
    past = history(*BEGUN, CALLED, own, RETURNED, tool)
    assert past.last is not None
    assert past.last.open, "nobody knows what became of it"
    past = history(*BEGUN, CALLED, own, RETURNED, tool, finished(), ToolReturned(call_id="r", tool="report", ok=True))
    assert past.last is None
