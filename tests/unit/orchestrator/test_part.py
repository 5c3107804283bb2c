"""One budget for all errands of a team."""

import pytest

from quartet_contracts import Budget, TaskSubmission, Usage
from quartet_orchestrator.tasks.part import share, team_budget


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
