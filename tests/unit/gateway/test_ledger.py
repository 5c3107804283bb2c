"""What is counted, by agent, period and task."""

import contextlib
import re
import sqlite3

import pytest

from quartet_gateway import AgentModels, ConfigurationError, SpendingLedger
from quartet_gateway.config import TaskBudget
from quartet_gateway.errors import BudgetSpentError
from quartet_gateway.ledger import FILE, TASKS_KEPT, Spending

ONE = Spending(requests=1, prompt_tokens=10, completion_tokens=5, cost_usd=0.5)
NO_LIMIT = AgentModels()


@pytest.fixture
def kept(tmp_path):
    """`kept()`: a ledger that keeps what was spent in `tmp_path`; each is closed."""
    with contextlib.ExitStack() as own:
        yield lambda: own.enter_context(contextlib.closing(SpendingLedger(tmp_path)))


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


def test_a_full_disk_costs_no_answer_and_is_written_when_there_is_room(kept, tmp_path, caplog):
    ledger = kept()
    (tmp_path / FILE).mkdir()
    ledger.add("pick", NO_LIMIT, "a", ONE)
    ledger.add("place", NO_LIMIT, "b", ONE)
    assert ledger.of_agent("pick", NO_LIMIT).requests == 1
    assert "a restart forgets it" in caplog.text
    (tmp_path / FILE).rmdir()
    ledger.add("pick", NO_LIMIT, "a", ONE)
    again = kept()
    assert [again.of_agent(agent, NO_LIMIT).requests for agent in ("pick", "place")] == [2, 1]
    assert (again.of_task("a")["pick"].requests, again.of_task("b")["place"].requests) == (2, 1)


def test_months_are_apart():
    clock = [1_000_000_000.0]
    ledger = SpendingLedger(now=lambda: clock[0])
    limits = AgentModels(budget_usd=0.4, budget_period="month")
    ledger.add("pick", limits, "", ONE)
    with pytest.raises(BudgetSpentError):
        ledger.check("pick", limits)
    clock[0] += 31 * 86_400
    ledger.check("pick", limits)


def test_what_agents_and_tasks_have_spent_survives_a_restart(kept):
    limits = AgentModels(budget_usd=0.4)
    kept().add("pick", limits, "a", ONE)
    again = kept()
    assert (again.of_agent("pick", limits), again.of_task("a")) == (ONE, {"pick": ONE})
    with pytest.raises(BudgetSpentError, match="task 'a'"):
        again.check_task("a", TaskBudget(budget_usd=0.5))


def test_tasks_keep_their_order_over_a_restart_and_those_forgotten_leave_the_file(kept):
    ledger = kept()
    for i in [*range(TASKS_KEPT), 0]:
        ledger.add("pick", NO_LIMIT, f"task-{i}", ONE)
    kept().add("pick", NO_LIMIT, "one more", ONE)
    last = kept()
    assert last.of_task("task-1") == {}
    assert last.of_task("task-0")["pick"].requests == 2
    assert last.of_task("one more")


def test_an_answer_writes_what_it_changed_however_many_tasks_are_kept(kept, tmp_path):
    ledger = kept()
    for i in range(TASKS_KEPT):
        ledger.add("pick", NO_LIMIT, f"task-{i}", ONE)
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    ledger.add("pick", NO_LIMIT, "task-5", ONE)
    assert 0 < (tmp_path / f"{FILE}-wal").stat().st_size < 40_000


def test_a_file_that_somebody_removes_is_written_anew(kept, tmp_path):
    ledger = kept()
    ledger.add("pick", NO_LIMIT, "a", ONE)
    for file in tmp_path.glob(f"{FILE}*"):
        file.unlink()
    ledger.add("place", NO_LIMIT, "a", ONE)
    assert {agent: spent.requests for agent, spent in kept().of_task("a").items()} == {"pick": 1, "place": 1}


def test_a_file_that_is_removed_before_the_first_answer_is_written_anew(kept, tmp_path):
    with contextlib.closing(SpendingLedger(tmp_path)) as ledger:
        ledger.add("pick", NO_LIMIT, "a", ONE)
    ledger = kept()
    (tmp_path / FILE).unlink()
    ledger.add("place", NO_LIMIT, "a", ONE)
    assert {agent: spent.requests for agent, spent in kept().of_task("a").items()} == {"pick": 1, "place": 1}


def test_another_process_that_writes_holds_nobody_up(kept, tmp_path, caplog):
    ledger = kept()
    ledger.add("pick", NO_LIMIT, "a", ONE)
    with contextlib.closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        ledger.add("pick", NO_LIMIT, "a", ONE)
        other.execute("ROLLBACK")
    assert "database is locked" in caplog.text
    ledger.add("pick", NO_LIMIT, "a", ONE)
    assert kept().of_task("a")["pick"].requests == 3


def test_a_spending_file_that_was_damaged(tmp_path):
    (tmp_path / FILE).write_text('{"pick:total": {"cost')
    with pytest.raises(ConfigurationError, match=re.escape(FILE) + ".* remove it to begin at zero"):
        SpendingLedger(tmp_path)


def test_a_spending_file_that_another_process_holds_is_not_to_be_removed(tmp_path):
    with contextlib.closing(SpendingLedger(tmp_path)) as ledger:
        ledger.add("pick", NO_LIMIT, "a", ONE)
    with contextlib.closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ConfigurationError, match=r"is locked.* end what else writes to it$"):
            SpendingLedger(tmp_path)
