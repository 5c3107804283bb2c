"""Tasks: submission, status and report."""

from typing import Annotated, Any, Literal, Self, cast

from pydantic import Field, SerializeAsAny, field_validator, model_validator

from quartet_contracts._budgets import Budget, Usage
from quartet_contracts._choices import Choices
from quartet_contracts._codes import TaskCode
from quartet_contracts._states import State
from quartet_contracts.messages import Arguments, Identifier, Message, Seconds
from quartet_contracts.skills import (
    MODEL_SKILLS,
    Skill,
    StepArguments,
    check_arguments_of_skill,
    read_arguments_of_skill,
)

MAX_SENTENCE = 1000
ANY_ROBOT = "any"
"""Robot name of a task that waits for the first free robot. No robot may have this name."""


class TaskSubmission(Arguments):
    """Body of a task submission."""

    sentence: Annotated[
        str,
        Field(min_length=1, max_length=MAX_SENTENCE, examples=["Put the red coke can on the wooden table."]),
    ]
    robot: Identifier | None = None
    """None: the first free robot."""
    team: Identifier | None = None
    """Way in which all robots agree on a plan (cmas, dmas, hmas1, hmas2, emos, at one table roco), or in which several
    models write programs for one robot's arm (sa, ma, malmm); None: one model does the task."""
    timeout_s: Annotated[float, Field(gt=0, le=86_400)] = 1800.0
    """The task fails when its work takes longer (wall time). Time in the queue and in PAUSED is none of it.
    Without it, the orchestrator's QUARTET_TASK_TIMEOUT_S applies."""
    queue_timeout_s: Annotated[float, Field(gt=0, le=86_400)] = 86_400.0
    """The task fails when no robot has begun it this long after it was accepted (wall time)."""
    budget: Budget = Budget(turns=50)

    @field_validator("sentence")
    @classmethod
    def _says_something(cls, value: str) -> str:
        text = " ".join(value.split())
        if not any(c.isalpha() for c in text):
            raise ValueError(
                "the sentence has no words; write what the robot should do, "
                "such as 'bring the red coke can to the sofa table'"
            )
        return text


class DirectStep(Arguments):
    """Single skill that a person requested, without the orchestrator's model."""

    skill: Skill
    arguments: SerializeAsAny[StepArguments]

    @model_validator(mode="before")
    @classmethod
    def _arguments_of_the_skill(cls, data: Any) -> Any:
        return read_arguments_of_skill(data)

    @model_validator(mode="after")
    def _skill_takes_these(self) -> Self:
        if self.skill not in MODEL_SKILLS:
            raise ValueError(f"skill '{self.skill}' is no step of a person; valid: {', '.join(MODEL_SKILLS)}")
        check_arguments_of_skill(self.skill, self.arguments)
        return self


class Task(Message):
    """Accepted task, as it is stored on the task stream."""

    task_id: Identifier
    sentence: Annotated[str, Field(min_length=1, max_length=MAX_SENTENCE)]
    robot: Identifier
    """ANY_ROBOT for a task without a robot, until one takes it; TEAM_QUEUE for a task of all robots."""
    created_at: Seconds
    deadline: Seconds
    """In the queue: the end of its waiting. Then the end of its work, which moves on by the time spent in PAUSED."""
    timeout_s: Annotated[float, Field(gt=0)] = 1800.0
    """Time for its work [s]."""
    budget: Budget
    step: DirectStep | None = None
    """Set for a task that is one skill and needs no orchestrator model."""
    team: Identifier | None = None
    """Way in which the robots of a team agree, or models write programs for one robot; as in the submission."""
    parent: Identifier | None = None
    """The team's task that this one is a part of."""
    submission: Identifier | None = None
    """Digest of the idempotency key with which it was submitted; kept as long as the task is."""
    traceparent: str | None = None


class DeliveryOutcome(Arguments):
    """One object of the final report."""

    object_name: Annotated[str, Field(max_length=200)]
    target: Annotated[str, Field(max_length=200)] = ""
    completed: bool
    error_code: Annotated[str, Field(max_length=64)] = "NONE"
    """The code that ended it, NONE when completed."""
    reason: Annotated[str, Field(max_length=2000)] = ""

    @model_validator(mode="before")
    @classmethod
    def _failed_has_a_code(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        fields = cast("dict[str, Any]", data)
        unnamed = fields.get("completed") is False and fields.get("error_code", "NONE") in {"", "NONE"}
        return {**fields, "error_code": "UNKNOWN"} if unnamed else fields


class TaskReport(Arguments):
    """Arguments of report_task_result, the report of the orchestrator's model."""

    success: bool
    summary: Annotated[str, Field(min_length=1, max_length=4000)]
    error_code: Annotated[
        TaskCode,
        Field(description="AMBIGUOUS or NOT_UNDERSTOOD if that is why it is not done. Code sets the others."),
    ] = TaskCode.NONE
    objects: Annotated[list[DeliveryOutcome], Field(max_length=50)] = []


class TaskStatus(Message):
    """Status of a task, as the API returns it."""

    task: Task
    state: State
    report: TaskReport | None = None
    usage: Usage = Usage()
    question: str | None = None
    """Open question to a person, while the state is PAUSED."""
    choices: Choices = []
    """Answers that the open question offers; any other text is an answer, too."""
    updated_at: Seconds


class Answer(Arguments):
    """A person's answer to ask_person."""

    text: Annotated[str, Field(min_length=1, max_length=2000)]
    """The text or the number of one of the question's choices, or any other words."""
    question_id: Identifier | None = None
    """None: the question that is open now."""


class Cancellation(Arguments):
    """Body of a cancel request: the reason."""

    reason: Annotated[str, Field(max_length=500)] = "canceled by a person"


class Pause(Arguments):
    """Body of a pause request: the reason."""

    reason: Annotated[str, Field(max_length=500)] = "paused by a person"


Actor = Literal["orchestrator", "approach", "pick", "place", "executor"]
