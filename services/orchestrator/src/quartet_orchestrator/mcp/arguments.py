"""Arguments of the tools. Unknown ones are refused, so that a model that invents one is told."""

from typing import Annotated, Literal

from pydantic import Field

from quartet_contracts import Cancellation, Identifier, TaskSubmission
from quartet_contracts.wire import Arguments

MAX_WAIT_S = 3600.0
Wait = Annotated[
    float,
    Field(
        ge=0,
        le=MAX_WAIT_S,
        description="Wait so long (seconds) for the task to end or to ask something, with progress notifications; "
        "0 answers at once.",
    ),
]
TaskId = Annotated[Identifier, Field(description="As run_task gave it.")]
OneRobot = Annotated[Identifier | None, Field(description="Which robot; may be left out where there is only one.")]


class RunTask(Arguments):
    sentence: Annotated[
        str,
        Field(
            min_length=1,
            max_length=1000,
            description="What the robot should do, in plain words, such as 'put the green bottle into the bin'.",
        ),
    ]
    robot: Annotated[Identifier | None, Field(description="Which robot; see list_robots.")] = None
    timeout_s: Annotated[float, Field(gt=0, le=86_400, description="The task fails when it takes longer.")] = 1800.0
    wait_s: Wait = 0.0
    key: Annotated[
        str | None,
        Field(description="Calls with the same key are one task; give one, such as a UUID, to retry safely."),
    ] = None

    def submission(self) -> TaskSubmission:
        """Raises pydantic.ValidationError for what no task can be made of."""
        return TaskSubmission(sentence=self.sentence, robot=self.robot, timeout_s=self.timeout_s)


class TaskStatusOf(Arguments):
    task_id: TaskId
    wait_s: Wait = 0.0


class AnswerTask(Arguments):
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
    task_id: TaskId
    reason: Annotated[str, Field(max_length=500)] = "canceled by an MCP client"

    def cancellation(self) -> Cancellation:
        return Cancellation(reason=self.reason)


class Stop(Arguments):
    robot: Annotated[Identifier | None, Field(description="Which robot; left out: every robot.")] = None
    reason: Annotated[str, Field(max_length=300)] = "stopped by an MCP client"


class Look(Arguments):
    robot: OneRobot = None
    camera: Annotated[Literal["front", "arm", "both"], Field(description="front: on the base; arm: at the wrist.")] = (
        "front"
    )


class ListRobots(Arguments):
    pass
