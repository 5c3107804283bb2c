"""`quartet schema`: JSON Schema of all messages, so that an agent can be written in any language."""

import json
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter

from quartet_cli.errors import UsageError
from quartet_contracts import (
    ARGUMENTS,
    MAX_MESSAGE_BYTES,
    REPORTS,
    RESULTS,
    SCHEMA_VERSION,
    Answer,
    Cancellation,
    GrantClaims,
    JournalEvent,
    SkillRequest,
    Task,
    TaskReport,
    TaskStatus,
    TaskSubmission,
)

MODELS: dict[str, Any] = {
    model.__name__: model
    for model in (
        TaskSubmission,
        Task,
        TaskStatus,
        TaskReport,
        Answer,
        Cancellation,
        SkillRequest,
        *ARGUMENTS.values(),
        *RESULTS.values(),
        *REPORTS.values(),
        GrantClaims,
        JournalEvent,
    )
}


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("schema")(schema)


def schema(
    message: Annotated[str | None, typer.Argument(help="Name of one message; default: all messages.")] = None,
) -> None:
    """Print the JSON Schema (2020-12) of all messages."""
    if message is None:
        whole = {
            "schema_version": SCHEMA_VERSION,
            "max_message_bytes": MAX_MESSAGE_BYTES,
            "messages": {name: TypeAdapter(model).json_schema() for name, model in MODELS.items()},
        }
        print(json.dumps(whole, indent=1))
        return
    if message not in MODELS:
        raise UsageError(f"there is no message '{message}'; valid: {', '.join(sorted(MODELS))}")
    print(json.dumps(TypeAdapter(MODELS[message]).json_schema(), indent=1))
