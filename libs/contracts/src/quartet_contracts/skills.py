"""What the orchestrator asks of a sub-agent and what comes back."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, SerializeAsAny, model_validator

from quartet_contracts.budgets import Budget, Usage
from quartet_contracts.codes import ApproachCode, PickCode, PlaceCode
from quartet_contracts.objects import ObjectId, Term
from quartet_contracts.states import State
from quartet_contracts.wire import Arguments, Identifier, Message, Seconds


class Skill(StrEnum):
    """The sub-agents; each name is also the name of its request stream."""

    APPROACH = "approach"
    PICK = "pick"
    PLACE = "place"


class NextAction(StrEnum):
    """What the robot does after an approach; it decides the standoff."""

    PICK = "pick"
    SURFACE_PLACE = "surface_place"
    CONTAINER_PLACE = "container_place"
    FLOOR_PLACE = "floor_place"


class ApproachArguments(Arguments):
    """Drive to an area and stand before an object or a place."""

    target_area: Annotated[Term, Field(description="Area to drive to, as the site names it.")]
    object_name: Annotated[
        Term, Field(description="What to stand before: the object to pick, or the surface or container.")
    ]
    next_action: Annotated[NextAction, Field(description="What follows; it decides the standoff.")]
    object_id: Annotated[
        ObjectId | None,
        Field(description="object_id of an earlier result: this very thing, not another of its name."),
    ] = None


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
        float,
        Field(ge=0, le=1, allow_inf_nan=False, description="held_object_height_m that pick reported [m]."),
    ]
    target_id: Annotated[
        ObjectId | None, Field(description="object_id of the surface or container that the approach reported.")
    ] = None
    object_id: Annotated[ObjectId | None, Field(description="object_id of what is held, as pick reported it.")] = None


SkillArguments = ApproachArguments | PickArguments | PlaceArguments
ARGUMENTS: dict[Skill, type[Arguments]] = {
    Skill.APPROACH: ApproachArguments,
    Skill.PICK: PickArguments,
    Skill.PLACE: PlaceArguments,
}


def without_ids(arguments: SkillArguments) -> SkillArguments:
    """What is asked for, whichever sighting of it is meant: a thing that was seen anew is still the same request."""
    ids = {name: None for name in ("object_id", "target_id") if name in type(arguments).model_fields}
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
    """Raises ValueError when the arguments are another skill's."""
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
    """What an earlier attempt at the same did is not known: what is asked for may be done already."""
    created_at: Seconds
    deadline: Seconds
    """Wall time after which the agent must have answered."""
    arguments: SerializeAsAny[SkillArguments]
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
    PASS = "PASS"
    FAIL = "FAIL"
    SKIP = "SKIP"


class Check(Arguments):
    """One visual check of the approach agent."""

    name: Literal["area", "target"]
    result: CheckResult
    note: Annotated[str, Field(max_length=500)] = ""


Reason = Annotated[str, Field(max_length=2000)]


class SkillResult(Message):
    """What every sub-agent answers. `success` is true exactly when `error_code` is NONE."""

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
    observed: Annotated[str, Field(max_length=4000)] = ""
    """What was seen when the state is UNCERTAIN."""
    object_id: ObjectId | None = None
    """Of what the robot stands before, or saw last of where it should (approach), holds (pick) or has put down (place);
    None where perception gives no ids, or the thing was not seen."""

    @model_validator(mode="after")
    def _success_is_code_none(self) -> Self:
        if self.success != (self.error_code == self.NONE):
            raise ValueError(
                f"success={self.success} does not go with error_code={self.error_code}: "
                "success is true exactly when it is NONE"
            )
        if self.success != (self.state == State.SUCCEEDED):
            raise ValueError(f"success={self.success} does not go with state={self.state}")
        return self


class ApproachResult(SkillResult):
    skill: Literal[Skill.APPROACH] = Skill.APPROACH  # pyright: ignore[reportIncompatibleVariableOverride]
    error_code: ApproachCode  # pyright: ignore[reportIncompatibleVariableOverride]
    checks: list[Check] = []


class PickResult(SkillResult):
    skill: Literal[Skill.PICK] = Skill.PICK  # pyright: ignore[reportIncompatibleVariableOverride]
    error_code: PickCode  # pyright: ignore[reportIncompatibleVariableOverride]
    held_object_height_m: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None


class PlaceResult(SkillResult):
    skill: Literal[Skill.PLACE] = Skill.PLACE  # pyright: ignore[reportIncompatibleVariableOverride]
    error_code: PlaceCode  # pyright: ignore[reportIncompatibleVariableOverride]


RESULTS: dict[Skill, type[ApproachResult] | type[PickResult] | type[PlaceResult]] = {
    Skill.APPROACH: ApproachResult,
    Skill.PICK: PickResult,
    Skill.PLACE: PlaceResult,
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
