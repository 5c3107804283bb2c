"""The sub-agents: each follows the procedure of its skill, from what the messages show, and reports its result."""

from collections.abc import Callable
from functools import partial
from typing import Any

from quartet_procedures import Procedure, approach, pick, place
from quartet_scripted_model.conversation import Conversation
from quartet_scripted_model.turn import Call, Policy

PROCEDURES: dict[str, Callable[[dict[str, Any], dict[str, Any]], Procedure]] = {
    "approach": approach,
    "pick": pick,
    "place": place,
}


def play(skill: str, talk: Conversation) -> Policy:
    """Follow the procedure of `skill` in `talk`. A report that is sent back is repeated in its shortest form."""
    fields = yield from PROCEDURES[skill](talk.request, talk.facts)
    report = f"report_{skill}_result"
    yield Call(report, talk.fit(report, **fields))
    yield Call(report, {key: fields[key] for key in ("success", "error_code", "reason")})


POLICIES: dict[str, Callable[[Conversation], Policy]] = {skill: partial(play, skill) for skill in PROCEDURES}
