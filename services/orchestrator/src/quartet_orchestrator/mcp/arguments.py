"""Arguments of the MCP tools. Unknown ones are rejected with the schema error, except fields that clients add."""

import re
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import Field, ValidationError

from quartet_agent_runtime import Repair, repair_arguments
from quartet_contracts import Cancellation, Identifier, TaskSubmission
from quartet_contracts.messages import Arguments

MAX_WAIT_S = 3600.0
CLIENT_FIELD = re.compile(
    "_|(action|body|call|chat|client|conversation|execution|headers|message|meta|metadata|params|query|request|session"
    "|thread|tool|trace|user|webhook|workflow)(?![a-z])"
)
"""Beginning of fields that clients such as n8n add to each call: toolCallId, sessionId, action, chatInput."""
A = TypeVar("A", bound=Arguments)
Wait = Annotated[
    float,
    Field(
        ge=0,
        le=MAX_WAIT_S,
        description="Seconds to wait for the task to end or to ask something, with progress notifications; "
        "0 answers at once.",
    ),
]
TaskId = Annotated[Identifier, Field(description="As returned by run_task.")]
OneRobot = Annotated[Identifier | None, Field(description="Which robot; optional where there is only one.")]


class RunTask(Arguments):
    """Arguments of run_task."""

    sentence: Annotated[
        str,
        Field(
            min_length=1,
            max_length=1000,
            description="What the robot should do, in plain words, such as 'put the green bottle into the bin'.",
        ),
    ]
    robot: Annotated[Identifier | None, Field(description="Which robot; see list_robots.")] = None
    timeout_s: Annotated[float, Field(gt=0, le=86_400, description="The task fails when its work takes longer.")] = (
        1800.0
    )
    wait_s: Wait = 0.0
    key: Annotated[
        str | None,
        Field(description="Calls with the same key are one task: pass one, such as a UUID, to retry safely."),
    ] = None

    def submission(self) -> TaskSubmission:
        """Return the submission. Raises pydantic.ValidationError when it is not a valid one."""
        chosen = self.model_dump(include={"sentence", "robot", "timeout_s"}, exclude_unset=True)
        return TaskSubmission.model_validate(chosen)


class TaskStatusOf(Arguments):
    """Arguments of task_status."""

    task_id: TaskId
    wait_s: Wait = 0.0


class AnswerTask(Arguments):
    """Arguments of answer."""

    task_id: TaskId
    text: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=2000,
            description="The person's words. Leave it out to have your client ask the person.",
        ),
    ] = None


class CancelTask(Arguments):
    """Arguments of cancel_task."""

    task_id: TaskId
    reason: Annotated[str, Field(max_length=500)] = "canceled by an MCP client"

    def cancellation(self) -> Cancellation:
        """Return the cancellation."""
        return Cancellation(reason=self.reason)


class Stop(Arguments):
    """Arguments of stop."""

    robot: Annotated[Identifier | None, Field(description="Which robot; left out: every robot.")] = None
    reason: Annotated[str, Field(max_length=300)] = "stopped by an MCP client"


class Look(Arguments):
    """Arguments of look."""

    robot: OneRobot = None
    camera: Annotated[Literal["front", "arm", "both"], Field(description="front: on the base; arm: at the wrist.")] = (
        "front"
    )


class ListRobots(Arguments):
    """Arguments of list_robots: none."""


def read_call(model: type[A], given: dict[str, Any]) -> tuple[A, list[Repair]]:
    """Return the arguments of a call and its repairs. Raises ArgumentsError or ValidationError, but not for a stop."""
    unknown = given.keys() - model.model_fields
    ignored = sorted(name for name in unknown if model is Stop or CLIENT_FIELD.match(name))
    extra: list[Repair] = [("extra", f"ignored {', '.join(ignored)[:200]}")] if ignored else []
    if model is Stop:
        return cast("A", _read_stop(given)), extra
    own = {name: value for name, value in given.items() if name not in ignored}
    arguments, repairs = repair_arguments(own, model.model_json_schema())
    return model.model_validate(arguments), [*extra, *repairs]


def _read_stop(given: dict[str, Any]) -> Stop:
    """Return a stop of the one robot that is named validly, or of every robot."""
    reason = str(given.get("reason") or Stop().reason)[:300].encode("utf-8", "replace").decode()
    named = [name for name in given if "robot" in name.lower()]
    try:
        return Stop(robot=given["robot"] if named == ["robot"] else None, reason=reason)
    except ValidationError:
        return Stop(reason=reason)
