"""Reads a plan out of what a model has said."""

import json
from typing import Any

from quartet_teams.errors import MOST_QUOTED, AnswerError, ContradictoryPlanError, MalformedPlanError, NoPlanFoundError

Plan = dict[str, str]
"""Action of each robot that does not wait."""


def parse_plan(answer: str) -> Plan:
    """Return the plan of the last JSON object in an answer, whatever stands around it.

    Raises NoPlanFoundError, MalformedPlanError, ContradictoryPlanError; their text is meant for the model, too.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_without_repetition)
    found: Any = None
    at = answer.find("{")
    while at >= 0:
        try:
            found, end = decoder.raw_decode(answer, at)
        except AnswerError:
            raise
        except (ValueError, RecursionError):  # no JSON; an integer of thousands of digits; thousands of brackets
            at = answer.find("{", at + 1)
        else:
            at = answer.find("{", end)
    if found is None:
        raise NoPlanFoundError(
            f'there is no JSON object such as {{"robot": "action"}} in the answer: {answer[:MOST_QUOTED]!r}'
        )
    wrong = [name for name, action in found.items() if not isinstance(action, str)]
    if wrong:
        raise MalformedPlanError(f"the action of {wrong[0]!r} is {found[wrong[0]]!r}; an action is a string")
    return found


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plan: dict[str, Any] = {}
    for name, value in pairs:
        if name in plan and plan[name] != value:
            raise ContradictoryPlanError(f"{name!r} has two actions, {plan[name]!r} and {value!r}; give it one")
        plan[name] = value
    return plan
