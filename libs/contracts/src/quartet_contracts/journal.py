"""Journal: the events of a task in order."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from quartet_contracts._budgets import Budget, Usage
from quartet_contracts._choices import Choices
from quartet_contracts._objects import AlikeThings
from quartet_contracts._states import State
from quartet_contracts._tasks import Actor, TaskReport
from quartet_contracts.messages import Identifier, Message, Model, Seconds

MAX_TEXT = 16_000


class Entry(Model):
    """Base of the content of an event; readers ignore fields that they do not know."""

    model_config = ConfigDict(extra="ignore", frozen=True)


Text = Annotated[str, Field(max_length=MAX_TEXT)]


class StateChanged(Entry):
    """The task has entered a state."""

    kind: Literal["state"] = "state"
    state: State
    reason: Text = ""


class WantedCall(Entry):
    """A tool call that a model wants."""

    id: str
    tool: str
    arguments: str
    """JSON text, not checked."""
    fault: str = ""
    """Reason why it must not be made: the answer was cut off, or its id came twice."""
    repaired: str = ""
    """What was repaired in `tool` and `arguments`, which are as they were understood."""


class ModelTurn(Entry):
    """Answer of a model: its text and the tool calls that it wants."""

    kind: Literal["model_turn"] = "model_turn"
    turn: int
    text: Text = ""
    refused: bool = False
    """The text is the model's refusal."""
    tools: list[str] = []
    calls: list[WantedCall] = []
    """A replica that takes the task over rebuilds the conversation from these and the tools' results."""
    usage: Usage = Usage()
    model: str = ""
    takes_images: bool = False
    reasoning: dict[str, Any] = {}
    """Data of the gateway that the next request has to repeat with this turn; no other component reads it."""


class ToolCalled(Entry):
    """A tool is about to be called."""

    kind: Literal["tool_call"] = "tool_call"
    call_id: str
    tool: str
    arguments: dict[str, Any]


class ToolProgress(Entry):
    """Progress that a motion reports while it runs."""

    kind: Literal["tool_progress"] = "tool_progress"
    call_id: str
    tool: str
    fraction: float | None = None
    message: Text = ""


class ToolReturned(Entry):
    """A tool has returned."""

    kind: Literal["tool_result"] = "tool_result"
    call_id: str
    tool: str
    ok: bool
    error_code: str = "NONE"
    text: Text = ""
    images: list[Identifier] = []
    """References of images in the image store."""
    duration_s: float = 0.0


class SkillRequested(Entry):
    """The orchestrator is about to ask a sub-agent for a skill."""

    kind: Literal["skill_requested"] = "skill_requested"
    request_id: Identifier
    skill: str
    attempt: int
    fence: int
    arguments: dict[str, Any]
    deadline: Seconds | None = None
    stops: dict[str, int] = {}
    """Stops that each motion server had counted when the task began."""
    alike_before: AlikeThings | None = None
    """As in the request."""
    own: bool = False
    """The orchestrator's own model makes the attempt; the sub-agent only verifies what it reports."""


class SkillStarted(Entry):
    """A sub-agent begins to work on a request."""

    kind: Literal["skill_started"] = "skill_started"
    request_id: Identifier
    skill: str
    replica: str


class SkillFinished(Entry):
    """The result of a skill request, as the orchestrator has received it."""

    kind: Literal["skill_result"] = "skill_result"
    request_id: Identifier
    skill: str
    success: bool
    error_code: str
    reason: Text
    state: State
    usage: Usage = Usage()
    details: dict[str, Any] = {}
    """checks of approach, held_object_height_m and put_back of pick, output and scene of a program; observed: how it
    was found after an uncertain end."""


class SkillSettled(Entry):
    """Observed outcome of an uncertain step, after the orchestrator had ended all motion at the servers."""

    kind: Literal["skill_settled"] = "skill_settled"
    request_id: Identifier
    skill: str
    state: State
    """RETRIABLE, or UNCERTAIN when nothing could be observed."""
    reason: Text
    observed: Text = ""
    grasp: str = ""
    """HOLDING or EMPTY; any other value means unknown."""
    in_hand: str = ""
    """What the wrist camera shows between the fingers."""


class TakenOver(Entry):
    """Another replica of the orchestrator owns the task from here on."""

    kind: Literal["taken_over"] = "taken_over"
    replica: str
    epoch: int


class Verified(Entry):
    """Result of an agent's verification of the model's report."""

    kind: Literal["verified"] = "verified"
    claimed: str
    settled: str
    note: Text = ""


class Observation(Entry):
    """Camera images between two steps."""

    kind: Literal["observation"] = "observation"
    label: str
    images: dict[str, Identifier] = {}
    """Image reference by camera."""


class Asked(Entry):
    """A person is asked something."""

    kind: Literal["question"] = "question"
    question_id: Identifier
    text: Text
    choices: Choices = []
    image: Identifier | None = None
    """Reference of the picture that the question is about."""
    approval: bool = False
    """Whether it asks a person to allow a call."""
    expires_at: Seconds


class Answered(Entry):
    """A person has answered."""

    kind: Literal["answer"] = "answer"
    question_id: Identifier
    text: Text


class Ordered(Entry):
    """A person or a program sent a command over the API."""

    kind: Literal["ordered"] = "ordered"
    order: Literal["submit", "pause", "resume", "cancel", "answer"]
    by: Text
    """Owner of the credential."""


class Note(Entry):
    """Remark of another kind, such as a retry or a limit reached."""

    kind: Literal["note"] = "note"
    text: Text


class TeamErrands(Entry):
    """What a team's task comes to: the target of each object, with the area where it is."""

    kind: Literal["team_errands"] = "team_errands"
    errands: dict[str, str]


class TeamTurn(Entry):
    """A participant of a team's discussion has spoken."""

    kind: Literal["team_turn"] = "team_turn"
    participant: str
    text: Text
    usage: Usage = Usage()
    about: Literal["errands", "program"] = "errands"
    """What the team makes: errands of several robots, or programs for the arm of one."""


class TeamProgram(Entry):
    """A program of a participant, which only calculates, has ended."""

    kind: Literal["team_program"] = "team_program"
    participant: str
    text: Text
    """Its output, or the reason why it did not run."""


class TeamSubtasks(Entry):
    """A group has shared its errands out; each robot does its own in this order."""

    kind: Literal["team_subtasks"] = "team_subtasks"
    subtasks: dict[str, list[str]]
    agreed: bool
    """Whether each robot has accepted its subtask."""
    rounds: int
    """Assignments that the leader made."""


class TeamStep(Entry):
    """The robots that were free have agreed; each that acts gets a task of its own, the others go on with theirs."""

    kind: Literal["team_step"] = "team_step"
    step: int
    plan: dict[str, str]
    tasks: dict[str, Identifier]
    """Task of each robot that acts."""
    budgets: dict[str, Budget] = {}
    """Share of the team's budget that each of these tasks has."""
    stops: dict[str, dict[str, int]] = {}
    """Stops that the motion servers of each robot had counted."""


class TeamStepEnded(Entry):
    """Tasks of a step have ended; one entry for each robot, in the order in which they end."""

    kind: Literal["team_step_ended"] = "team_step_ended"
    step: int
    outcomes: dict[str, Text]
    """NONE for each robot whose errand is done, else the error code."""
    reasons: dict[str, Text] = {}
    holding: dict[str, Text] = {}
    """What robots still hold, by the site's names."""
    usage: dict[str, Usage] = {}
    """What each task has used, with its sub-agents."""
    spent: dict[str, Usage] = {}
    """What of it counts for the budget: the loop of its orchestrator."""


class RobotLeft(Entry):
    """A robot has dropped out of its team; the others go on without it."""

    kind: Literal["robot_left"] = "robot_left"
    robot: str
    error_code: Literal["ROBOT_STOPPED", "ROBOT_ABSENT", "ROBOT_UNCERTAIN", "PARTICIPANT_SILENT"]
    reason: Text


class Reported(Entry):
    """The report with which the task ends."""

    kind: Literal["report"] = "report"
    report: TaskReport


Happening = Annotated[
    StateChanged
    | ModelTurn
    | ToolCalled
    | ToolProgress
    | ToolReturned
    | SkillRequested
    | SkillStarted
    | SkillFinished
    | SkillSettled
    | TakenOver
    | Verified
    | Observation
    | Asked
    | Answered
    | Ordered
    | Note
    | TeamErrands
    | TeamTurn
    | TeamProgram
    | TeamSubtasks
    | TeamStep
    | TeamStepEnded
    | RobotLeft
    | Reported,
    Field(discriminator="kind"),
]


class JournalEvent(Message):
    """One line of a task's journal."""

    task_id: Identifier
    actor: Actor
    at: Seconds
    event: Happening
    request_id: Identifier | None = None
    """The skill request it belongs to, when a sub-agent wrote it."""
    position: str = ""
    """Stream entry id, filled in by the reader."""
