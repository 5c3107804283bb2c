"""A robot's part of a team's task: the task that it gets, and what has come of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from quartet_bus import Bus
from quartet_contracts import Budget, Skill, State, TaskStatus, TaskSubmission, Usage
from quartet_contracts.journal import JournalEvent, ModelTurn, SkillFinished, ToolCalled
from quartet_orchestrator.recovery import read_history
from quartet_orchestrator.tasks.facts import GripperContent, TaskFacts
from quartet_orchestrator.tasks.names import SiteNames

LEAST_TURNS, LEAST_CALLS = 5, 4
"""What an errand takes at least: two approaches, a pick, a place, and the report."""
CODE = re.compile(r"[A-Z][A-Z_]{0,63}")


@dataclass(frozen=True)
class PartEnd:
    """What has come of a robot's task."""

    code: str
    """NONE for a task that succeeded, else its error code: a word, since a model reads it."""
    reason: str
    holding: str
    """What the robot still holds, by the site's name."""
    usage: Usage
    """With the sub-agents."""
    spent: Usage
    """What of it counts for the budget: the loop of the task's orchestrator."""


async def read_end(bus: Bus, end: TaskStatus, names: SiteNames) -> PartEnd:
    """Return what has come of a task that has ended, from its status and its journal."""
    task_id, spent = end.task.task_id, Usage()
    journal = await bus.journal.read_all(task_id)
    for noted in journal:
        if noted.actor == "orchestrator":
            event = noted.event
            spent = spent.plus(event.usage) if isinstance(event, ModelTurn) else spent
            spent = spent.plus(Usage(tool_calls=1)) if isinstance(event, ToolCalled) else spent
    facts = TaskFacts(names)
    facts.restore(read_history(journal), task_id)
    holding = facts.held if facts.gripper is GripperContent.OBJECT else ""
    code = code_of(end, journal)
    reason = "" if code == "NONE" else end.report.summary if end.report else str(end.state)
    return PartEnd(code, reason, holding, end.usage, spent)


async def has_picked(bus: Bus, task_id: str) -> bool:
    """Return whether a task that runs has picked something up."""
    events = [noted.event for noted in await bus.journal.read_all(task_id)]
    return any(isinstance(event, SkillFinished) and event.skill == Skill.PICK and event.success for event in events)


def code_of(end: TaskStatus, journal: Sequence[JournalEvent]) -> str:
    """Return NONE for a task that succeeded, else its error code; of a task that is one skill, that of the skill."""
    if end.state is State.SUCCEEDED:
        return "NONE"
    codes = [row.error_code for row in end.report.objects if not row.completed] if end.report else []
    if end.task.step and end.state is State.FAILED:
        codes = [noted.event.error_code for noted in journal if isinstance(noted.event, SkillFinished)][-1:]
    return next((code for code in codes if CODE.fullmatch(code) and code != "NONE"), str(end.state))


def team_budget(submission: TaskSubmission, loops: int) -> Budget:
    """Return the budget of a team's task: what a person has set, and of the rest as much as `loops` of a model."""
    budget = submission.budget
    chosen = budget.model_fields_set if "budget" in submission.model_fields_set else set[str]()
    left = {
        name: limit * loops
        for name in ("turns", "tool_calls", "tokens")
        if name not in chosen and (limit := getattr(budget, name)) is not None
    }
    return budget.model_copy(update=left)


def share(budget: Budget, used: Usage, reserved: list[Budget], parts: int) -> Budget | None:
    """Return what each of `parts` tasks may use; None when the rest is too small for an errand each.

    What is neither used nor reserved is split so that as much as a task gets is left for what comes later.
    """

    def split(limit: float, gone: float, held: list[float], least: float) -> float:
        left = limit - gone - sum(held)
        return max(left / (parts + 1), min(left / parts, least))

    turns = int(split(budget.turns, used.turns, [one.turns for one in reserved], LEAST_TURNS))
    calls = int(split(budget.tool_calls, used.tool_calls, [one.tool_calls for one in reserved], LEAST_CALLS))
    if turns < LEAST_TURNS or calls < LEAST_CALLS:
        return None
    given: dict[str, float] = {"turns": turns, "tool_calls": calls}
    if budget.tokens is not None:
        gone = used.prompt_tokens + used.completion_tokens
        given["tokens"] = int(split(budget.tokens, gone, [one.tokens or 0 for one in reserved], 0))
    # A cost of 0 USD means that there is no limit.
    if budget.cost_usd:
        given["cost_usd"] = split(budget.cost_usd, used.cost_usd, [one.cost_usd or 0.0 for one in reserved], 0.0)
    return budget.model_copy(update=given) if all(limit > 0 for limit in given.values()) else None
