"""Spending of each agent and task, and the check of an agent's budget."""

import contextlib
import logging
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from quartet_gateway.config import AgentModels, TaskBudget
from quartet_gateway.errors import BudgetSpentError, ConfigurationError

log = logging.getLogger(__name__)

TASKS_KEPT = 1000
FILE = "spending.sqlite3"
READ_WAIT_S, WRITE_WAIT_S = 1.0, 0.05
"""How long the file is waited for while another process writes to it [s]; all requests wait with a write."""


@dataclass
class Spending:
    """Requests, tokens and cost since a period began."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def add(self, other: "Spending") -> None:
        """Add the fields of `other`."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


_COLUMNS = ", ".join(one.name for one in fields(Spending))
_TYPES = ", ".join(f"{one.name} {'REAL' if one.name == 'cost_usd' else 'INTEGER'} NOT NULL" for one in fields(Spending))
_TABLES = f"""
CREATE TABLE IF NOT EXISTS agents (period TEXT PRIMARY KEY, {_TYPES}) STRICT;
CREATE TABLE IF NOT EXISTS tasks (
    task TEXT, agent TEXT, turn INTEGER NOT NULL, {_TYPES}, PRIMARY KEY (task, agent)
) STRICT;
"""
_MARKS = ", ".join("?" for _ in fields(Spending))
_PASSING = frozenset(
    getattr(sqlite3, f"SQLITE_{name}") for name in ("BUSY", "CANTOPEN", "FULL", "IOERR", "LOCKED", "PERM", "READONLY")
)
"""Kinds of errors that say nothing about what the file holds."""
_Change = tuple[str, tuple[object, ...]]
"""A statement and its values."""


class SpendingLedger:
    """Records spending by agent and period, and by task; with a folder, it survives a restart.

    A request counts when it is answered, so that an agent can exceed its budget by the requests in flight. An answer
    costs one small transaction of SQLite, however many tasks are kept; it outlives the process, and not always a loss
    of power.
    """

    def __init__(self, folder: Path | None = None, now: Callable[[], float] = time.time) -> None:
        """`now` returns the time by which periods are told apart. Raises ConfigurationError for a damaged file."""
        self._path = None if folder is None else folder / FILE
        self._now = now
        self._agents: dict[str, Spending] = {}
        self._tasks: OrderedDict[str, dict[str, Spending]] = OrderedDict()
        self._turn = 0
        """Number of the last answer, by which tasks have their order in the file."""
        self._connection: sqlite3.Connection | None = None
        self._behind = False
        """Whether the file lacks something that could not be written."""
        self._read()

    def check(self, agent: str, limits: AgentModels) -> None:
        """Raise BudgetSpentError when `agent` has used up its budget of this period."""
        spent = self._agents.get(self._key(agent, limits.budget_period), Spending())
        if limits.budget_usd is not None and spent.cost_usd >= limits.budget_usd:
            raise BudgetSpentError(
                f"agent '{agent}' has spent ${spent.cost_usd:.4f} of its budget of ${limits.budget_usd:.4f} "
                f"({limits.budget_period}); raise agents.{agent}.budget_usd in the gateway's file"
            )
        if limits.budget_tokens is not None and spent.tokens >= limits.budget_tokens:
            raise BudgetSpentError(
                f"agent '{agent}' has used {spent.tokens} of its {limits.budget_tokens} tokens "
                f"({limits.budget_period}); raise agents.{agent}.budget_tokens in the gateway's file"
            )

    def check_task(self, task: str, limits: TaskBudget) -> None:
        """Raise BudgetSpentError when all agents together have used up the budget of `task`."""
        spent = Spending()
        for one in self._tasks.get(task, {}).values():
            spent.add(one)
        if limits.budget_usd is not None and spent.cost_usd >= limits.budget_usd and task:
            raise BudgetSpentError(
                f"task '{task}' has spent ${spent.cost_usd:.4f} of the ${limits.budget_usd:.4f} that a task may cost; "
                "raise tasks.budget_usd in the gateway's file"
            )
        if limits.budget_tokens is not None and spent.tokens >= limits.budget_tokens and task:
            raise BudgetSpentError(
                f"task '{task}' has used {spent.tokens} of the {limits.budget_tokens} tokens of a task; "
                "raise tasks.budget_tokens in the gateway's file"
            )

    def add(self, agent: str, limits: AgentModels, task: str, spent: Spending) -> None:
        """Add the spending of one answered request."""
        period = self._key(agent, limits.budget_period)
        self._agents.setdefault(period, Spending()).add(spent)
        changes = [self._agent_row(period)]
        if task:
            self._turn += 1
            self._tasks.setdefault(task, {}).setdefault(agent, Spending()).add(spent)
            self._tasks.move_to_end(task)
            changes.append(self._task_row(task, agent, self._turn))
            while len(self._tasks) > TASKS_KEPT:
                oldest, _ = self._tasks.popitem(last=False)
                changes.append(("DELETE FROM tasks WHERE task = ?", (oldest,)))
        self._write(changes)

    def close(self) -> None:
        """Close the file; the next answer opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def of_agent(self, agent: str, limits: AgentModels) -> Spending:
        """Return the spending of `agent` in the current period."""
        return self._agents.get(self._key(agent, limits.budget_period), Spending())

    def of_task(self, task: str) -> dict[str, Spending]:
        """Return the spending for `task` by agent; {} for a task that is no longer kept."""
        return dict(self._tasks.get(task, {}))

    def _key(self, agent: str, period: str) -> str:
        form = {"day": "%Y-%m-%d", "month": "%Y-%m"}.get(period)
        return f"{agent}:{time.strftime(form, time.gmtime(self._now())) if form else 'total'}"

    def _read(self) -> None:
        if self._path is None or not self._path.exists():
            return
        try:
            with contextlib.closing(self._open(self._path, READ_WAIT_S)) as stored:
                for period, *spent in stored.execute(f"SELECT period, {_COLUMNS} FROM agents"):
                    self._agents[period] = Spending(*spent)
                for task, agent, turn, *spent in stored.execute(
                    f"SELECT task, agent, turn, {_COLUMNS} FROM tasks ORDER BY turn"
                ):
                    self._tasks.setdefault(task, {})[agent] = Spending(*spent)
                    self._tasks.move_to_end(task)
                    self._turn = turn
        except sqlite3.Error as error:
            advice = "repair it, or remove it to begin at zero"
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _PASSING:
                advice = "make room beside it, make it and its folder writable, or end what else writes to it"
            raise ConfigurationError(f"{self._path} cannot keep what was spent ({error}); {advice}") from error

    def _open(self, path: Path, wait_s: float) -> sqlite3.Connection:
        opened = sqlite3.connect(path, timeout=wait_s)
        try:
            # Changes are added to a file beside it; only when that is moved into this one, they wait for the disk.
            opened.execute("PRAGMA journal_mode = WAL")
            opened.execute("PRAGMA synchronous = NORMAL")
            opened.executescript(_TABLES)
        except sqlite3.Error:
            opened.close()
            raise
        return opened

    def _write(self, changes: list[_Change]) -> None:
        if self._path is None:
            return
        try:
            if not self._path.exists():
                # All that is counted goes to a new one: somebody may have removed it.
                self._behind = True
                self.close()
            if self._connection is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._connection = self._open(self._path, WRITE_WAIT_S)
            with self._connection:
                for statement, values in self._everything() if self._behind else changes:
                    self._connection.execute(statement, values)
        except (OSError, sqlite3.Error) as error:
            # An answer that has been paid for is passed on; the next one writes what is counted here.
            log.error("the spending is not written to %s: %s; a restart forgets it", self._path, error)
            self._behind = True
            self.close()
        else:
            self._behind = False

    def _everything(self) -> list[_Change]:
        """Return the statements that make the file hold what is counted, whatever it held."""
        of_agents = [self._agent_row(period) for period in self._agents]
        order = enumerate(self._tasks, self._turn - len(self._tasks) + 1)
        of_tasks = [self._task_row(task, agent, turn) for turn, task in order for agent in self._tasks[task]]
        return [("DELETE FROM agents", ()), ("DELETE FROM tasks", ()), *of_agents, *of_tasks]

    def _agent_row(self, period: str) -> _Change:
        values = (period, *astuple(self._agents[period]))
        return f"INSERT OR REPLACE INTO agents (period, {_COLUMNS}) VALUES (?, {_MARKS})", values

    def _task_row(self, task: str, agent: str, turn: int) -> _Change:
        values = (task, agent, turn, *astuple(self._tasks[task][agent]))
        return f"INSERT OR REPLACE INTO tasks (task, agent, turn, {_COLUMNS}) VALUES (?, ?, ?, {_MARKS})", values
