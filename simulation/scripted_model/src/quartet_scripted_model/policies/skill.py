"""Common steps of the three sub-agents' policies: retry, give up, report."""

from collections.abc import Generator
from typing import Any

from quartet_scripted_model.conversation import Conversation
from quartet_scripted_model.turn import Call, Policy, Result, Turn

FINAL = frozenset({"STOPPED", "FENCED", "DENIED", "BRIDGE_UNAVAILABLE", "CANCELED", "NAVIGATION_CANCELED"})
"""Codes after which an agent must not try again: somebody else decided, or the robot is out of reach."""

Asking = Generator[Turn, Result, Result]
Doing = Generator[Turn, Result, None]


class GiveUpError(Exception):
    """Ends a policy with a report that names this code."""

    def __init__(self, code: str, reason: str, **extra: Any) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.extra = extra


def final(result: Result, what: str) -> None:
    """Raise GiveUpError(UNKNOWN) when `result` forbids another try."""
    if result.code in FINAL:
        raise GiveUpError("UNKNOWN", f"{what}: {result.code}. {result.message}".strip())


def ask(talk: Conversation, tool: str, *, tries: int = 2, say: str = "", **arguments: Any) -> Asking:
    """Call `tool`, again after a failure that may pass, and gives back the last result."""
    result = Result({})
    for _ in range(tries):
        result = yield Call(tool, talk.fit(tool, **arguments), say)
        final(result, tool)
        if result.ok or result.code not in _TRANSIENT:
            break
    return result


def ask_for(talk: Conversation, tool: str, object_id: Any, named: dict[str, Any], **arguments: Any) -> Asking:
    """`ask` about the very thing with `object_id`; where there is none, or it is forgotten, about what is `named`."""
    properties = talk.tools.get(tool, {}).get("properties", {})
    key = "object_ids" if "names" in named else "target_id" if "target_id" in properties else "object_id"
    if object_id and key in properties:
        one = {key: [object_id] if key == "object_ids" else object_id}
        result = yield from ask(talk, tool, **one, **arguments)
        if result.code != FORGOTTEN:
            return result
    return (yield from ask(talk, tool, **named, **arguments))


FORGOTTEN = "UNKNOWN_OBJECT_ID"
_TRANSIENT = frozenset({"TIMEOUT", "ROS_ERROR", "TRANSFORM_UNAVAILABLE", "UNKNOWN"})
"""Codes of a look or a question at the robot that may be answered the next time. Motions are never in `ask`."""


def report(talk: Conversation, tool: str, **arguments: Any) -> Doing:
    """Report; a report that is sent back is made once more in its shortest form."""
    fitted = talk.fit(tool, **arguments)
    yield Call(tool, fitted)
    yield Call(tool, {k: fitted[k] for k in ("success", "error_code", "reason")})


def run(talk: Conversation, tool: str, work: Generator[Turn, Result, dict[str, Any]]) -> Policy:
    """Do `work`, then reports what it gives back, or the code with which it gave up."""
    try:
        outcome = yield from work
    except GiveUpError as stop:
        outcome = {"success": False, "error_code": stop.code, "reason": stop.reason, **stop.extra}
    yield from report(talk, tool, **outcome)


def why(result: Result) -> str:
    """Code and message of a failed result, for a reason."""
    return f"{result.code}: {result.message}" if result.message else result.code
