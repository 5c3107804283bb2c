"""JSON Schema of all messages, so that an agent can be written in another language."""

from typing import Any

from pydantic import BaseModel

from quartet_contracts._grants import GrantClaims
from quartet_contracts._tasks import (
    Answer,
    Cancellation,
    DirectStep,
    Task,
    TaskReport,
    TaskStatus,
    TaskSubmission,
)
from quartet_contracts._turns import ProgramAnswer, ProgramRequest, TurnAnswer, TurnRequest
from quartet_contracts.approvals import ApprovalClaims, ApprovalDecision, ApprovalRequest
from quartet_contracts.journal import JournalEvent
from quartet_contracts.messages import SCHEMA_VERSION
from quartet_contracts.skills import ARGUMENTS, REPORTS, RESULTS, SkillRequest

DIALECT = "https://json-schema.org/draft/2020-12/schema"

MESSAGES: tuple[type[BaseModel], ...] = (
    TaskSubmission,
    Task,
    DirectStep,
    TaskStatus,
    TaskReport,
    Answer,
    Cancellation,
    SkillRequest,
    TurnRequest,
    TurnAnswer,
    ProgramRequest,
    ProgramAnswer,
    *ARGUMENTS.values(),
    *RESULTS.values(),
    *REPORTS.values(),
    GrantClaims,
    ApprovalRequest,
    ApprovalDecision,
    ApprovalClaims,
    JournalEvent,
)


def json_schemas() -> dict[str, dict[str, Any]]:
    """Return the schemas by name of message or tool result."""
    return {
        model.__name__: {"$schema": DIALECT, "version": SCHEMA_VERSION, **model.model_json_schema()}
        for model in (*MESSAGES, *_tool_results())
    }


def _tool_results() -> list[type[BaseModel]]:
    # Imported here: a process that calls no tool does without them.
    from quartet_contracts.tools import moveit, nav2, perception, ros
    from quartet_contracts.tools.results import ToolResult

    return [
        model
        for module in (moveit, nav2, perception, ros)
        for model in vars(module).values()
        if isinstance(model, type) and issubclass(model, ToolResult) and model is not ToolResult
    ]
