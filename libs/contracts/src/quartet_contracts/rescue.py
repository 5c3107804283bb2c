"""Results for requests that no agent could answer: expired, withdrawn, poison, unreadable."""

from pydantic import ValidationError

from quartet_contracts.errors import MalformedMessage
from quartet_contracts.skills import RESULTS, Skill, SkillRequest, SkillResult
from quartet_contracts.states import State
from quartet_contracts.wire import read_json


def unknown_result(request: SkillRequest, reason: str, state: State = State.FAILED, observed: str = "") -> SkillResult:
    """The answer UNKNOWN to `request`; `reason` is cut to what a result may carry."""
    return RESULTS[request.skill].model_validate(
        {
            "request_id": request.request_id,
            "task_id": request.task_id,
            "attempt": request.attempt,
            "success": False,
            "error_code": "UNKNOWN",
            "reason": reason[:2000],
            "state": state,
            "observed": observed[:4000],
        }
    )


def unreadable_request(skill: Skill, data: bytes, reason: str) -> tuple[str, SkillResult] | None:
    """Reply stream and answer for a request that does not validate, as far as it says who asked; None otherwise."""
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
                "reason": f"the request could not be read: {reason}"[:2000],
                "state": State.FAILED,
            }
        )
    except (MalformedMessage, ValueError, LookupError, TypeError, ValidationError):
        return None
    return reply_to, result
