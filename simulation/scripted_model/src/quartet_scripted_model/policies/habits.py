"""Habits of real models, played around the policy of an agent."""

import json
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from quartet_scripted_model.conversation import Conversation
from quartet_scripted_model.misbehaviour import Kind
from quartet_scripted_model.turn import Call, Policy, Result, Text, calls_of

READS: dict[str, dict[str, Any]] = {
    "look": {"camera": "both"},
    "perception__look": {"camera": "front"},
    "moveit__get_grasp_state": {},
}
"""Tools that move nothing, with their arguments."""
PROSE = "Sure! I will find the object first, then bring it where it belongs. Shall I start?"
HEADER, OTHER_HEADER = "| object | pick up at | put down at |", "| object to move | from | destination |"
PLAN, CALLS, REPORT = 0, 1, -1
"""Which of the other names of an object an orchestrator uses where."""


@dataclass(frozen=True)
class Habit:
    """The habit `kind` of the model in `talk`, whose policy `start` returns from its beginning."""

    kind: Kind
    talk: Conversation
    start: Callable[[], Policy]

    def play(self) -> Policy:
        """Play the policy with the habit."""
        if self.kind is Kind.PROSE_ONLY or (self.kind is Kind.PROSE_FIRST and not self.talk.spoke):
            yield Text(PROSE)
        elif self.kind is Kind.LOOKS_FIRST:
            yield self._reads()
        elif self.kind is Kind.CLAIMS_EARLY:
            yield self._claim()
        policy, number = self.start(), 0
        done: dict[str, Result] = {}
        with suppress(StopIteration):
            turn = next(policy)
            while True:
                if isinstance(turn, Call) and turn.name in done:
                    turn = policy.send(done.pop(turn.name))
                    continue
                own = tuple(self._changed(number, call) for call in calls_of(turn))
                more = self._more(number, own)
                results: list[Result] = yield (*own, *more)
                if self.kind is Kind.OWN_WORDS and own[0].name.startswith("report_"):
                    # It was rejected: name the objects as Facts do.
                    results = yield calls_of(turn)
                done = {call.name: result for call, result in zip(more, results[len(own) :], strict=True) if result.ok}
                turn = policy.send(results[0] if isinstance(turn, Call) else results[: len(own)])
                number += 1

    def _more(self, number: int, calls: tuple[Call, ...]) -> tuple[Call, ...]:
        """Return further calls of turn `number`, after its own `calls`."""
        first = calls[0]
        if first.name.startswith("report_"):
            return ()
        if self.kind is Kind.REPORTS_BESIDE and number == 0:
            return (self._claim(),)
        if self.kind is not Kind.SEVERAL_CALLS:
            return ()
        if first.arguments.get("next_action") == "pick":
            return (Call("pick", {"object_name": first.arguments["object_name"]}),)
        return self._reads()

    def _changed(self, number: int, call: Call) -> Call:
        """Return a call of turn `number` in the way of the model."""
        match self.kind:
            case Kind.OWN_WORDS:
                place = REPORT if call.name.startswith("report_") else CALLS
                arguments = json.loads(self._reworded(json.dumps(call.arguments, ensure_ascii=False), place))
                return Call(call.name, arguments, self._reworded(call.say, PLAN))
            case Kind.PLANS_TWICE if number in {1, 2} and "approach" in self.talk.tools:
                plan = calls_of(next(self.start()))[0].say.replace(HEADER, OTHER_HEADER)
                return replace(call, say=self._reworded(plan, PLAN))
            case Kind.EMPTY_ARGUMENTS:
                schema = self.talk.tools[call.name]
                optional = {
                    name: "" if '"string"' in json.dumps(one) else None
                    for name, one in schema.get("properties", {}).items()
                    if name not in schema.get("required", ())
                }
                return replace(call, arguments={**optional, **call.arguments})
            case _:
                return call

    def _reads(self) -> tuple[Call, ...]:
        return tuple(Call(name, arguments) for name, arguments in READS.items() if name in self.talk.tools)

    def _claim(self) -> Call:
        """Return a report of success, with what the policy would report if every call succeeded."""
        policy = self.start()
        turn = next(policy)
        while not (isinstance(turn, Call) and turn.name.startswith("report_")):
            good = [Result({"ok": True}) for _ in calls_of(turn)]
            turn = policy.send(good[0] if isinstance(turn, Call) else good)
        claim = {**turn.arguments, "success": True, "error_code": "NONE"}
        return Call(turn.name, self.talk.fit(turn.name, **claim))

    def _reworded(self, text: str, place: int) -> str:
        """Return `text` with an alias of each object of Facts, or "the can" for a red can, if no other has that name.

        Names have no character that JSON escapes.
        """
        objects = self.talk.facts.get("objects", [])
        names = {one["name"]: [*one.get("aliases", []), f"the {one['name'].split()[-1]}"] for one in objects}
        uses = Counter([*names, *(name for others in names.values() for name in others)])
        unique = {name: [other for other in others if uses[other] == 1] for name, others in names.items()}
        said = {name: others[min(place, len(others) - 1)] for name, others in unique.items() if others}
        pattern = "|".join(re.escape(name) for name in sorted(said, key=len, reverse=True))
        return re.sub(rf"\b(?:the )?({pattern})\b", lambda found: said[found[1]], text) if said else text
