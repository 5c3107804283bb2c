"""The figures of one task, from its journal."""

from collections import Counter
from typing import Any

from quartet_contracts import JournalEvent, State, TaskStatus, Usage
from quartet_contracts.journal import ModelTurn, SkillFinished, ToolReturned


def run_metrics(status: TaskStatus, events: list[JournalEvent]) -> dict[str, Any]:
    """Return counts and wall times [s] of a task and of its parts."""
    used = Usage()
    tools: dict[str, dict[str, Any]] = {}
    agents: Counter[str] = Counter()
    skills: list[dict[str, Any]] = []
    for event in events:
        match event.event:
            case ModelTurn(usage=usage):
                used = used.plus(usage)
                agents[event.actor] += 1
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
        "model_turns": sum(agents.values()),
        "model_turns_by_agent": dict(sorted(agents.items())),
        "tool_calls": sum(row["calls"] for row in tools.values()),
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "cost_usd": used.cost_usd,
        "skills": skills,
        "tools": dict(sorted(tools.items())),
    }
