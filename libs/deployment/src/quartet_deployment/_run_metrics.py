"""The figures of one task, from its journal."""

from collections import Counter
from typing import Any

from quartet_contracts import JournalEvent, State, TaskStatus
from quartet_contracts.journal import ModelTurn, SkillFinished, TeamTurn, ToolReturned


def run_metrics(status: TaskStatus, events: list[JournalEvent]) -> dict[str, Any]:
    """Return counts and wall times [s] of a task and of its parts.

    The totals are those of the task's status, which also has the tasks that the robots of a team were given. A tool
    call is one whose result is in a journal, made or refused, by a model or by code.
    """
    used = status.usage
    tools: dict[str, dict[str, Any]] = {}
    agents: Counter[str] = Counter()
    skills: list[dict[str, Any]] = []
    for event in events:
        match event.event:
            case ModelTurn():
                agents[event.actor] += 1
            case TeamTurn(participant=participant):
                agents[participant] += 1
            case ToolReturned() as result:
                row = tools.setdefault(result.tool, {"calls": 0, "failed": 0, "seconds": 0.0})
                row["calls"] += 1
                row["failed"] += not result.ok
                row["seconds"] = round(row["seconds"] + result.duration_s, 3)
            case SkillFinished() as result:
                skills.append(
                    {
                        "skill": result.skill,
                        "error_code": result.error_code,
                        "tool_calls": result.usage.tool_calls,
                        "seconds": round(result.usage.wall_s, 3),
                    }
                )
            case _:
                pass
    return {
        "task_id": status.task.task_id,
        "sentence": status.task.sentence,
        "state": status.state.value,
        "completed": status.state == State.SUCCEEDED,
        "wall_s": round(status.updated_at - status.task.created_at, 3),
        "model_turns": used.turns,
        "model_turns_by_agent": dict(sorted(agents.items())),
        "tool_calls": used.tool_calls,
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "cost_usd": used.cost_usd,
        "skills": skills,
        "tools": dict(sorted(tools.items())),
    }
