"""Results of the MCP tools."""

from pydantic import BaseModel

from quartet_bus import Question
from quartet_contracts import TERMINAL, State, TaskReport, TaskStatus, Usage


class OpenQuestion(BaseModel):
    """Question that a task asks now."""

    question_id: str
    text: str
    choices: list[str] = []
    """Answers that it offers; the person may give another."""
    needs_a_person: bool
    """Whether it asks to approve a call under the site's policy, which no model may do."""


class TaskView(BaseModel):
    """Task, its open question and its report."""

    task_id: str
    sentence: str
    robot: str
    state: State
    ended: bool
    question: OpenQuestion | None = None
    report: TaskReport | None = None
    usage: Usage
    next: str
    """What the caller can do now."""


class RobotView(BaseModel):
    """Robot, its state and its tasks."""

    name: str
    state: str
    """idle, busy, stopped, absent or uncertain."""
    why: str = ""
    task: str | None = None
    waiting: int = 0
    """Number of tasks in its own queue."""


class Robots(BaseModel):
    """All robots."""

    robots: list[RobotView]


class LookView(BaseModel):
    """Where a robot looked; the pictures come as images."""

    robot: str
    cameras: list[str]
    area: str = ""


class StopView(BaseModel):
    """Result of a stop."""

    stopped: bool
    """Whether the guard of every robot named has confirmed."""
    robots: dict[str, str]
    """By robot: at standstill, not yet, or why its guard was not reached."""
    next: str


def task_view(status: TaskStatus, question: Question | None) -> TaskView:
    """Return the view of a task with its open question."""
    asked = None
    if question is not None and status.state not in TERMINAL:
        asked = OpenQuestion(
            question_id=question.question_id,
            text=question.text,
            choices=list(question.choices),
            needs_a_person=question.approval,
        )
    return TaskView(
        task_id=status.task.task_id,
        sentence=status.task.sentence,
        robot=status.task.robot,
        state=status.state,
        ended=status.state in TERMINAL,
        question=asked,
        report=status.report,
        usage=status.usage,
        next=_next(status, asked),
    )


def _next(status: TaskStatus, asked: OpenQuestion | None) -> str:
    if status.state in TERMINAL:
        return "nothing: the task has ended; the report says how"
    if asked is not None and asked.needs_a_person:
        return (
            f"a person has to say yes or no: call answer with the task_id alone, and your client asks them if it can; "
            f"or they answer in the web page or with: quartet answer {status.task.task_id} yes"
        )
    if asked is not None:
        return "ask the person you work for, then call answer with their words"
    return "call task_status with wait_s to follow it, or cancel_task to end it"
