"""One model for the whole job: the orchestrator, and what approach, pick and place do in each of its steps."""

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from quartet_scripted_model.conversation import Conversation
from quartet_scripted_model.misbehaviour import Kind
from quartet_scripted_model.policies import orchestrator
from quartet_scripted_model.policies.procedure import POLICIES
from quartet_scripted_model.turn import Call, Policy, Result, Turn

BEGUN = "begun"
"""Field of the result of a tool that has begun a step."""
NOT_TAKEN = frozenset({"INVALID_REPORT", "REPORT_NOT_ALONE"})
"""Codes of a report that is sent back."""


def does_work_in(talk: Conversation) -> bool:
    """Return whether the model of `talk` has the tools of the robot besides those of the orchestrator."""
    return all(f"report_{skill}_result" in talk.tools for skill in POLICIES)


def policy(talk: Conversation, misreading: Kind | None = None) -> Policy:
    """Play the only model in `talk`; a `misreading` is the orchestrator's."""
    work = orchestrator.policy(talk, misreading)
    turn = next(work)
    while True:
        result = yield turn
        if isinstance(turn, Call) and result.get(BEGUN) == turn.name:
            result = yield from _step(talk, turn.name, result.get("request"))
        try:
            turn = work.send(result)
        except StopIteration:
            return


def _step(talk: Conversation, skill: str, request: dict[str, Any]) -> Generator[Turn, Result, Result]:
    """Do one step and return the result of its report."""
    report = f"report_{skill}_result"
    places = [*talk.facts["surfaces"], *talk.facts["containers"]]
    steps = POLICIES[skill](replace(talk, facts={**talk.facts, "places": places}, request=request))
    turn = next(steps)
    while True:
        result = yield turn
        if isinstance(turn, Call) and turn.name == report and result.code not in NOT_TAKEN:
            return result
        try:
            turn = steps.send(result)
        except StopIteration:
            return Result({"ok": False, "error_code": "UNKNOWN", "message": f"no report of {skill} was taken"})
