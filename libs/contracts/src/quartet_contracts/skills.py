"""Skill requests of the orchestrator and the results of the sub-agents."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import AliasChoices, Field, SerializeAsAny, ValidationError, model_validator

from quartet_contracts._budgets import Budget, Usage
from quartet_contracts._codes import ApproachCode, ExecutorCode, PickCode, PlaceCode
from quartet_contracts._objects import AlikeThings, ObjectId, Term
from quartet_contracts._scenes import ArmScene
from quartet_contracts._states import State
from quartet_contracts.errors import MalformedMessageError
from quartet_contracts.messages import Arguments, Identifier, Message, Seconds, read_json


class Skill(StrEnum):
    """The sub-agents; each name is also the name of its request stream."""

    APPROACH = "approach"
    PICK = "pick"
    PLACE = "place"
    EXECUTOR = "executor"
    """Runs a program that a team of models wrote for the arm."""


MODEL_SKILLS = (Skill.APPROACH, Skill.PICK, Skill.PLACE)
"""Skills with a model of their own, which the orchestrator's model and a person ask for."""


MAX_PASSED = 40
"""Areas that an approach tells of."""


class NextAction(StrEnum):
    """Purpose of an approach; it decides the standoff, which the robot file has under the same name."""

    LOOK = "look"
    """Nothing is picked or placed: the robot drives to an area, or before a thing in it, and sees what is there."""

    PICK = "pick"
    SURFACE_PLACE = "surface_place"
    CONTAINER_PLACE = "container_place"
    FLOOR_PLACE = "floor_place"


class Stand(StrEnum):
    """Where before its target the robot is to stand."""

    USUAL = "usual"
    NEARER = "nearer"
    """Nearer than usual, for an arm that did not reach."""
    OTHER_SIDE = "other_side"
    """At another side than where the robot stands now, for an arm that found no way, or no room to put down."""


class ApproachArguments(Arguments):
    """Drive to an area and stand before an object or a place."""

    target_area: Annotated[Term, Field(description="Area to drive to, as the site names it.")]
    object_name: Annotated[
        Term,
        Field(
            description="What to stand before: the object to pick, or the surface or container; to look at an area, "
            "its name."
        ),
    ]
    next_action: Annotated[NextAction, Field(description="What follows; it decides the standoff.")]
    object_id: Annotated[
        ObjectId | None,
        Field(description="object_id of an earlier result: this very thing, not another of its name."),
    ] = None
    stand: Annotated[
        Stand,
        Field(
            description="After the arm failed there, or had no room: nearer than usual, or at another side than now."
        ),
    ] = Stand.USUAL


PARKING = "parking"
"""What an approach calls the poses of an area in which a robot stands in nobody's way."""
HELD_OBJECT = "held object"
"""What a place calls a thing in the gripper that nothing has named; it is no name to look for."""


class PickArguments(Arguments):
    """Grasp an object that the robot stands before."""

    object_name: Annotated[Term, Field(description="The object to pick up, with its colour if it has one.")]
    object_id: Annotated[
        ObjectId | None, Field(description="object_id that the approach reported: this very thing is grasped.")
    ] = None


class PlaceArguments(Arguments):
    """Put the held object down at a place that the robot stands before."""

    target_location: Annotated[Term, Field(description="Surface or container to place on or into, or 'floor'.")]
    object_name: Annotated[Term, Field(description="The object that is held.")]
    object_height_m: Annotated[
        float | None,
        Field(ge=0, le=1, allow_inf_nan=False, description="Height of what is held [m]; leave it out: it is measured."),
    ] = None
    target_id: Annotated[
        ObjectId | None, Field(description="object_id of the surface or container that the approach reported.")
    ] = None
    held_id: Annotated[
        ObjectId | None,
        Field(
            validation_alias=AliasChoices("held_id", "object_id"),
            description="object_id of what is held, as pick reported it.",
        ),
    ] = None


MAX_PROGRAM, MAX_PROGRAM_OUTPUT = 12_000, 8_000
"""Characters of a program and of what it prints."""


class ExecutorArguments(Arguments):
    """Run a program for the arm; the base stands."""

    code: Annotated[str, Field(max_length=MAX_PROGRAM, description="Python; '' only looks.")] = ""
    before: Annotated[ArmScene | None, Field(description="State before the program, as the last request gave it.")] = (
        None
    )


StepArguments = ApproachArguments | PickArguments | PlaceArguments
"""Of MODEL_SKILLS."""
SkillArguments = StepArguments | ExecutorArguments
ARGUMENTS: dict[Skill, type[SkillArguments]] = {
    Skill.APPROACH: ApproachArguments,
    Skill.PICK: PickArguments,
    Skill.PLACE: PlaceArguments,
    Skill.EXECUTOR: ExecutorArguments,
}


A = TypeVar("A", bound=Arguments)


def without_ids(arguments: A) -> A:
    """Return the arguments without ids and height: a request for an object that got a new one is still the same."""
    names = ("object_id", "target_id", "held_id", "object_height_m")
    ids = {name: None for name in names if name in type(arguments).model_fields}
    return arguments.model_copy(update=ids) if any(getattr(arguments, name) for name in ids) else arguments


def read_arguments_of_skill(data: Any) -> Any:
    """Read `arguments` as what `skill` takes: pick's arguments are a subset of the others' by shape."""
    if isinstance(data, dict) and isinstance(data.get("arguments"), dict):  # pyright: ignore[reportUnknownMemberType]
        fields: dict[str, Any] = dict(data)  # pyright: ignore[reportUnknownArgumentType]
        if fields.get("skill") in list(Skill):
            fields["arguments"] = ARGUMENTS[Skill(fields["skill"])].model_validate(fields["arguments"])
        return fields
    return data  # pyright: ignore[reportUnknownVariableType]


def check_arguments_of_skill(skill: Skill, arguments: Arguments) -> None:
    """Raise ValueError when the arguments are another skill's."""
    if type(arguments) is not ARGUMENTS[skill]:
        raise ValueError(f"skill '{skill}' takes {ARGUMENTS[skill].__name__}, got {type(arguments).__name__}")


class SkillRequest(Message):
    """One attempt at one skill, on the skill's request stream."""

    request_id: Identifier
    task_id: Identifier
    robot: Identifier
    skill: Skill
    attempt: Annotated[int, Field(ge=1)] = 1
    follows_uncertain: bool = False
    """Whether an earlier attempt ended so that the request may be fulfilled already, or the hand be at the object."""
    created_at: Seconds
    deadline: Seconds
    """Wall time after which the agent must have answered, by the clock of who asks: what counts is how long it is after
    `created_at`."""
    age_s: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """Time since `created_at` when it was put on the stream [s]."""
    arguments: SerializeAsAny[SkillArguments]
    alike_before: AlikeThings | None = None
    """Of a place: things with the name of what is held, as they were before, so that none of them is taken for it
    afterwards. None: nobody looked."""
    claim: dict[str, Any] | None = None
    """What the orchestrator's own model reports of this attempt, which it has made itself with the tools of the grant;
    the agent asks no model then, and only verifies it. None: the agent does the work."""
    coded: bool = False
    """The agent's own code does the work in place of its model (architecture `skill`)."""
    grant: Annotated[str, Field(repr=False)]
    """Signed token, the agent's only credential towards the MCP servers."""
    reply_to: Annotated[str, Field(min_length=1, max_length=200)]
    """Reply stream of the orchestrator replica that asked."""
    budget: Budget = Budget()
    traceparent: str | None = None
    """W3C trace context."""

    @model_validator(mode="before")
    @classmethod
    def _arguments_of_the_skill(cls, data: Any) -> Any:
        return read_arguments_of_skill(data)

    @model_validator(mode="after")
    def _skill_takes_these(self) -> Self:
        check_arguments_of_skill(self.skill, self.arguments)
        return self


class CheckResult(StrEnum):
    """Outcome of one check of an approach."""

    PASS = "PASS"
    FAIL = "FAIL"
    SKIP = "SKIP"


class Check(Arguments):
    """One visual check of the approach agent."""

    name: Literal["area", "target"]
    result: CheckResult
    note: Annotated[str, Field(max_length=500)] = ""


MAX_REASON = 2000
"""Characters of a report's or a result's reason."""
Reason = Annotated[str, Field(max_length=MAX_REASON)]

Withdrawn = Literal["STOPPED", "DENIED"]
"""Codes of the servers: a person stopped the robot, a person or rule said no.

FENCED is none of them: a server that was restarted answers so as well, and the next attempt brings a newer fence.
"""


ENDS = (State.SUCCEEDED, State.FAILED, State.CANCELED, State.UNCERTAIN)
"""States in which a request ends."""


class SkillResult(Message):
    """Result of a skill request. `success` is true exactly when `error_code` is NONE."""

    NONE: ClassVar[str] = "NONE"

    request_id: Identifier
    task_id: Identifier
    skill: Skill
    attempt: Annotated[int, Field(ge=1)] = 1
    success: bool
    error_code: str
    reason: Reason
    tool_calls_used: Annotated[int, Field(ge=0)] = 0
    usage: Usage = Usage()
    state: State = State.SUCCEEDED
    """SUCCEEDED, FAILED, CANCELED, or UNCERTAIN when the outcome is not known and the world must be looked at."""
    withdrawn: Withdrawn | None = None
    """Why the robot was taken from a failed attempt, a server's code: nothing more is to be tried with it."""
    observed: Annotated[str, Field(max_length=4000)] = ""
    """Observation when the state is UNCERTAIN."""
    object_id: ObjectId | None = None
    """Of what the robot stands before, or saw last of where it should (approach), holds or has put back (pick) or has
    put down (place); None where perception gives no ids, or the thing was not seen."""

    @model_validator(mode="after")
    def _success_is_code_none(self) -> Self:
        if self.success != (self.error_code == self.NONE):
            raise ValueError(
                f"success={self.success} does not go with error_code={self.error_code}: "
                "success is true exactly when it is NONE"
            )
        if self.success != (self.state == State.SUCCEEDED):
            raise ValueError(f"success={self.success} does not go with state={self.state}")
        if self.state not in ENDS:
            raise ValueError(f"state={self.state} is no end of a request; valid: {', '.join(ENDS)}")
        return self


class ApproachResult(SkillResult):
    """Result of an approach."""

    skill: Literal[Skill.APPROACH] = Skill.APPROACH  # pyright: ignore[reportIncompatibleVariableOverride]
    error_code: ApproachCode  # pyright: ignore[reportIncompatibleVariableOverride]
    checks: list[Check] = []
    passed: Annotated[list[str], Field(max_length=MAX_PASSED)] = []
    """Names of the areas that the robot's drives led through, where it was to put something down: what it has lost on
    the way lies in one of them."""
    seen_in: Term | None = None
    """Area in which the object was clearly seen, of an approach that did not find it in its own area."""


class PickResult(SkillResult):
    """Result of a pick."""

    skill: Literal[Skill.PICK] = Skill.PICK  # pyright: ignore[reportIncompatibleVariableOverride]
    error_code: PickCode  # pyright: ignore[reportIncompatibleVariableOverride]
    held_object_height_m: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    held_object: Term | None = None
    """Name of what the gripper holds, in words of the request or the site; None where it is empty or has no name."""
    put_back: bool = False
    """What this pick took by mistake was let go again where it was taken from: the gripper is empty."""


class PlaceResult(SkillResult):
    """Result of a place."""

    skill: Literal[Skill.PLACE] = Skill.PLACE  # pyright: ignore[reportIncompatibleVariableOverride]
    error_code: PlaceCode  # pyright: ignore[reportIncompatibleVariableOverride]
    still_held: bool | None = None
    """Whether the gripper still held the object when the check measured it; None if it was not measured."""


class ExecutorResult(SkillResult):
    """Result of a program: an exit code other than 0 is PROGRAM_FAILED."""

    skill: Literal[Skill.EXECUTOR] = Skill.EXECUTOR  # pyright: ignore[reportIncompatibleVariableOverride]
    error_code: ExecutorCode  # pyright: ignore[reportIncompatibleVariableOverride]
    output: Annotated[str, Field(max_length=MAX_PROGRAM_OUTPUT)] = ""
    """What the program printed, with the text of its error."""
    completed: bool = False
    """The program has called task_completed()."""
    scene: ArmScene | None = None
    """State after a program that succeeded."""


RESULTS: dict[Skill, type[ApproachResult] | type[PickResult] | type[PlaceResult] | type[ExecutorResult]] = {
    Skill.APPROACH: ApproachResult,
    Skill.PICK: PickResult,
    Skill.PLACE: PlaceResult,
    Skill.EXECUTOR: ExecutorResult,
}


class ApproachReport(Arguments):
    """Arguments of report_approach_result: what the model claims."""

    success: bool
    error_code: ApproachCode
    reason: Reason
    checks: list[Check] = []


class PickReport(Arguments):
    """Arguments of report_pick_result: what the model claims."""

    success: bool
    error_code: PickCode
    reason: Reason
    held_object_height_m: Annotated[
        float | None,
        Field(ge=0, le=1, description="Height of the held object, from the grasp pose's bounding box [m]."),
    ] = None
    held_object: Annotated[
        Term | None,
        Field(description="Name of what the gripper holds, where a tool has told it; none for an empty one."),
    ] = None


class PlaceReport(Arguments):
    """Arguments of report_place_result: what the model claims."""

    success: bool
    error_code: PlaceCode
    reason: Reason


REPORTS: dict[Skill, type[ApproachReport] | type[PickReport] | type[PlaceReport]] = {
    Skill.APPROACH: ApproachReport,
    Skill.PICK: PickReport,
    Skill.PLACE: PlaceReport,
}


def unknown_result(request: SkillRequest, reason: str, state: State = State.FAILED, observed: str = "") -> SkillResult:
    """Return the result UNKNOWN for a request that no agent answered; `reason` is cut to what a result may carry."""
    return RESULTS[request.skill].model_validate(
        {
            "request_id": request.request_id,
            "task_id": request.task_id,
            "attempt": request.attempt,
            "success": False,
            "error_code": "UNKNOWN",
            "reason": reason[:MAX_REASON],
            "state": state,
            "observed": observed[:4000],
        }
    )


def unreadable_request(skill: Skill, data: bytes, reason: str) -> tuple[str, SkillResult] | None:
    """Return reply stream and result for a request that does not validate; None when it names no reply stream."""
    try:
        raw = read_json(data, "the request")
        reply_to = raw["reply_to"]
        if not isinstance(reply_to, str) or not 0 < len(reply_to) <= 200:
            return None
        result = RESULTS[skill].model_validate(
            {
                "request_id": raw["request_id"],
                "task_id": raw["task_id"],
                "success": False,
                "error_code": "UNKNOWN",
                "reason": f"the request could not be read: {reason}"[:MAX_REASON],
                "state": State.FAILED,
            }
        )
    except (MalformedMessageError, ValueError, LookupError, TypeError, ValidationError):
        return None
    return reply_to, result
