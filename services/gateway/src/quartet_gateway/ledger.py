"""Spending of each agent and task, and the check of an agent's budget."""

import json
import logging
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from quartet_gateway.config import AgentModels, TaskBudget
from quartet_gateway.errors import BudgetSpentError, ConfigurationError

log = logging.getLogger(__name__)

TASKS_KEPT = 1000
AGENTS_FILE, TASKS_FILE = "spending.json", "task_spending.json"
T = TypeVar("T")


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


class SpendingLedger:
    """Records spending by agent and period, and by task; with a folder, it survives a restart.

    A request counts when it is answered, so that an agent can exceed its budget by the requests in flight.
    """

    def __init__(self, folder: Path | None = None, now: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._now = now
        self._agents: dict[str, Spending] = self._read(AGENTS_FILE, _spending)
        self._tasks: OrderedDict[str, dict[str, Spending]] = OrderedDict(
            self._read(TASKS_FILE, lambda of: {agent: _spending(one) for agent, one in of.items()})
        )

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
        self._agents.setdefault(self._key(agent, limits.budget_period), Spending()).add(spent)
        if task:
            by_agent = self._tasks.setdefault(task, {})
            by_agent.setdefault(agent, Spending()).add(spent)
            self._tasks.move_to_end(task)
            while len(self._tasks) > TASKS_KEPT:
                self._tasks.popitem(last=False)
        self._write()

    def of_agent(self, agent: str, limits: AgentModels) -> Spending:
        """Return the spending of `agent` in the current period."""
        return self._agents.get(self._key(agent, limits.budget_period), Spending())

    def of_task(self, task: str) -> dict[str, Spending]:
        """Return the spending for `task` by agent; {} for a task that is no longer kept."""
        return dict(self._tasks.get(task, {}))

    def _key(self, agent: str, period: str) -> str:
        form = {"day": "%Y-%m-%d", "month": "%Y-%m"}.get(period)
        return f"{agent}:{time.strftime(form, time.gmtime(self._now())) if form else 'total'}"

    def _read(self, name: str, convert: Callable[[Any], T]) -> dict[str, T]:
        if self._folder is None or not (path := self._folder / name).is_file():
            return {}
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            return {key: convert(value) for key, value in stored.items()}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise ConfigurationError(
                f"{path} does not hold what was spent ({error}); repair it, or remove it to begin at zero"
            ) from error

    def _write(self) -> None:
        if self._folder is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for name, spent in ((AGENTS_FILE, self._agents), (TASKS_FILE, self._tasks)):
                path = self._folder / name
                scratch = path.with_suffix(f".{os.getpid()}")
                scratch.write_text(json.dumps(spent, default=asdict), encoding="utf-8")
                scratch.replace(path)
        except OSError as error:
            # An answer that has been paid for is passed on; the next one writes what is counted here.
            log.error("the spending is not written to %s: %s; a restart forgets it", self._folder, error)


def _spending(stored: Any) -> Spending:
    return Spending(**stored)
