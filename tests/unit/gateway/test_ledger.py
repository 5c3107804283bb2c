"""What is counted, by agent, period and task."""

import re

import pytest

from quartet_gateway import AgentModels, ConfigurationError, SpendingLedger
from quartet_gateway.config import TaskBudget
from quartet_gateway.errors import BudgetSpentError
from quartet_gateway.ledger import TASKS_KEPT, Spending

ONE = Spending(requests=1, prompt_tokens=10, completion_tokens=5, cost_usd=0.5)
NO_LIMIT = AgentModels()


def test_agents_and_tasks_are_counted_apart():
    ledger = SpendingLedger()
    ledger.add("pick", NO_LIMIT, "a", ONE)
    ledger.add("pick", NO_LIMIT, "b", ONE)
    ledger.add("place", NO_LIMIT, "a", ONE)
    assert ledger.of_agent("pick", NO_LIMIT).cost_usd == 1.0
    assert ledger.of_agent("approach", NO_LIMIT) == Spending()
    assert {agent: spent.tokens for agent, spent in ledger.of_task("a").items()} == {"pick": 15, "place": 15}


def test_old_tasks_are_forgotten_and_agents_are_not():
    ledger = SpendingLedger()
    for i in range(TASKS_KEPT + 10):
        ledger.add("pick", NO_LIMIT, f"task-{i}", ONE)
    assert ledger.of_task("task-0") == {}
    assert ledger.of_task(f"task-{TASKS_KEPT + 9}")
    assert ledger.of_agent("pick", NO_LIMIT).requests == TASKS_KEPT + 10


@pytest.mark.parametrize("limits", [{"budget_usd": 0.5}, {"budget_tokens": 15}, {"budget_usd": 0}])
def test_a_budget_is_spent_when_it_is_reached(limits):
    ledger = SpendingLedger()
    ledger.add("pick", AgentModels(**limits), "", ONE)
    with pytest.raises(BudgetSpentError, match=r"raise agents\.pick\.budget_"):
        ledger.check("pick", AgentModels(**limits))


def test_a_full_disk_costs_no_answer_and_is_written_when_there_is_room(tmp_path, caplog):
    ledger = SpendingLedger(tmp_path)
    (tmp_path / "spending.json").mkdir()
    ledger.add("pick", NO_LIMIT, "a", ONE)
    assert ledger.of_agent("pick", NO_LIMIT).requests == 1
    assert "a restart forgets it" in caplog.text
    (tmp_path / "spending.json").rmdir()
    ledger.add("pick", NO_LIMIT, "a", ONE)
    assert SpendingLedger(tmp_path).of_agent("pick", NO_LIMIT).requests == 2


def test_months_are_apart():
    clock = [1_000_000_000.0]
    ledger = SpendingLedger(now=lambda: clock[0])
    limits = AgentModels(budget_usd=0.4, budget_period="month")
    ledger.add("pick", limits, "", ONE)
    with pytest.raises(BudgetSpentError):
        ledger.check("pick", limits)
    clock[0] += 31 * 86_400
    ledger.check("pick", limits)


def test_what_agents_and_tasks_have_spent_survives_a_restart(tmp_path):
    limits = AgentModels(budget_usd=0.4)
    SpendingLedger(tmp_path).add("pick", limits, "a", ONE)
    again = SpendingLedger(tmp_path)
    assert (again.of_agent("pick", limits), again.of_task("a")) == (ONE, {"pick": ONE})
    with pytest.raises(BudgetSpentError, match="task 'a'"):
        again.check_task("a", TaskBudget(budget_usd=0.5))


@pytest.mark.parametrize("name", ["spending.json", "task_spending.json"])
def test_a_spending_file_that_was_damaged(tmp_path, name):
    (tmp_path / name).write_text('{"pick:total": {"cost')
    with pytest.raises(ConfigurationError, match=re.escape(name)):
        SpendingLedger(tmp_path)
