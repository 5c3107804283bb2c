"""A robot's part of a team's task: its share of the budget, and the code with which it ended."""

import pytest

from quartet_contracts import (
    Budget,
    DeliveryOutcome,
    DirectStep,
    JournalEvent,
    PickArguments,
    Skill,
    State,
    Task,
    TaskReport,
    TaskStatus,
    TaskSubmission,
    Usage,
)
from quartet_contracts.journal import SkillFinished
from quartet_orchestrator.tasks.part import code_of, share, team_budget


def test_what_a_person_has_set_is_for_the_whole_team_and_the_rest_for_each_loop():
    made = team_budget(TaskSubmission(sentence="a b", budget=Budget(turns=30, cost_usd=1.0)), 3)
    assert (made.turns, made.cost_usd) == (30, 1.0)
    assert (made.tool_calls, made.tokens) == (3 * Budget().tool_calls, 3 * (Budget().tokens or 0))
    assert team_budget(TaskSubmission(sentence="a b", budget=Budget(tokens=None)), 3).tokens is None
    assert team_budget(TaskSubmission(sentence="a b"), 3).turns == 3 * TaskSubmission(sentence="a b").budget.turns


def test_what_is_left_is_shared_and_never_more_than_the_budget_is_given():
    budget = Budget(turns=60, tool_calls=60, tokens=3000, cost_usd=3.0)
    used = Usage(turns=6, tool_calls=6, prompt_tokens=200, completion_tokens=100, cost_usd=0.3)
    first = share(budget, used, [], 2)
    assert first is not None
    assert (first.turns, first.tool_calls, first.tokens, first.cost_usd) == (18, 18, 900, pytest.approx(0.9))
    second = share(budget, used.plus(Usage(turns=5, tool_calls=4)), [first], 1)
    assert second is not None
    assert (second.turns, second.tokens) == (15, 900)
    assert used.turns + 5 + first.turns + second.turns <= budget.turns


@pytest.mark.parametrize(
    "used",
    [
        Usage(turns=56),
        Usage(tool_calls=57),
        Usage(prompt_tokens=2000, completion_tokens=1000),
        Usage(cost_usd=3.0),
        Usage(cost_usd=3.5),
    ],
)
def test_a_rest_that_is_too_small_for_an_errand_is_not_given(used):
    assert share(Budget(turns=60, tool_calls=60, tokens=3000, cost_usd=3.0), used, [], 1) is None


def test_the_last_errand_gets_the_rest():
    last = share(Budget(turns=60), Usage(turns=54), [], 1)
    assert last is not None
    assert last.turns == 5
    assert share(Budget(tokens=None, cost_usd=0.0), Usage(cost_usd=9.0), [], 1) is not None


def finished(code):
    result = SkillFinished(
        request_id="r1", skill="pick", success=code == "NONE", error_code=code, reason="?", state=State.FAILED
    )
    return JournalEvent(task_id="t1", actor="orchestrator", at=1.0, event=result)


def ended(state, *rows, step=None):
    report = TaskReport(success=False, summary="?", objects=list(rows))
    task = Task(
        task_id="t1",
        sentence="a b",
        robot="ur5",
        created_at=1.0,
        deadline=2.0,
        timeout_s=1.0,
        budget=Budget(),
        step=step,
    )
    return TaskStatus(task=task, state=state, report=report, updated_at=1.5)


def test_a_task_that_is_one_skill_ends_with_the_code_of_its_last_attempt():
    pick = DirectStep(skill=Skill.PICK, arguments=PickArguments(object_name="red block"))
    attempts = [finished("FENCED"), finished("PICK_PLAN_FAILED")]
    assert code_of(ended(State.FAILED, step=pick), attempts) == "PICK_PLAN_FAILED"
    assert code_of(ended(State.FAILED, step=pick), []) == "FAILED"
    assert code_of(ended(State.CANCELED, step=pick), attempts) == "CANCELED"
    assert code_of(ended(State.SUCCEEDED, step=pick), [finished("NONE")]) == "NONE"
    row = DeliveryOutcome(object_name="red block", target="desk", completed=False, error_code="NOT_FOUND")
    assert code_of(ended(State.FAILED, row), attempts) == "NOT_FOUND", "of the report, where a model planned"
