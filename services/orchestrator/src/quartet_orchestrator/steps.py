"""One attempt at one skill, as its caller, the journal and the model have it."""

from dataclasses import dataclass
from typing import Any

from quartet_contracts import ApproachResult, PickResult, SkillArguments, SkillRequest, SkillResult, State
from quartet_contracts.journal import SkillFinished, SkillSettled


@dataclass(frozen=True)
class Step:
    """What was asked, what was answered, what was seen where that left it open."""

    arguments: SkillArguments
    result: SkillResult
    settled: SkillSettled | None = None


def finished(result: SkillResult) -> SkillFinished:
    """A skill's end as the journal keeps it."""
    return SkillFinished(
        request_id=result.request_id,
        skill=result.skill,
        success=result.success,
        error_code=str(result.error_code),
        reason=result.reason,
        state=result.state,
        usage=result.usage,
        details=details(result) | ({"observed": result.observed} if result.observed else {}),
    )


def not_begun(request: SkillRequest, reason: str, state: State) -> SkillFinished:
    """The end of a request that no agent took."""
    return SkillFinished(
        request_id=request.request_id,
        skill=request.skill,
        success=False,
        error_code="UNKNOWN",
        reason=reason,
        state=state,
    )


def details(result: SkillResult) -> dict[str, Any]:
    """What only this skill reports, and which thing it is about."""
    named = {} if result.object_id is None else {"object_id": result.object_id}
    if isinstance(result, ApproachResult):
        return {"checks": [check.model_dump(mode="json") for check in result.checks], **named}
    if isinstance(result, PickResult):
        return {"held_object_height_m": result.held_object_height_m, **named}
    return named
