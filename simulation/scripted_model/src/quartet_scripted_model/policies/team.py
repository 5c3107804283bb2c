"""Team talk: split a task into errands, plan one step for all robots, agree to a plan."""

import json
import re
from collections.abc import Iterator

from quartet_scripted_model.conversation import read_facts, sentence_in
from quartet_scripted_model.language.understand import understand
from quartet_scripted_model.language.vocabulary import vocabulary_of

_SPLIT, _PLANNER, _CRITIC = "You split a task into errands", "You are the central planner", "A central planner has made"
_ROBOT = "one of several robots that plan together"
_ABILITIES = re.compile(r"# What each robot can do now\n(.*?)\n\s*(?:#|$)", re.DOTALL)
_ACTION = re.compile(r"move\(([^,()]+), ([^,()]+), ([^,()]+)\)")
_REFUSED = re.compile(r"Your last answer was:\n(.*?)\n\nIt was refused: (.*)", re.DOTALL)
_APART = re.compile(r"^Do not go together: (.*)$", re.MULTILINE)
_SAME_ROOM = re.compile(r"^In the same room, so better one after the other: (.*)$", re.MULTILINE)
_METRES = re.compile(r"^Metres from (\S+) to where it would begin: (.*)$", re.MULTILINE)
MEETING_M = 3.0
"""What two errands in the same room cost [m of driving]: one robot may have to wait for the other."""
FEW = 4
"""Robots for which all ways are compared."""
MOST_NEAR = 5
"""Errands of each robot that are looked at, the nearest first."""
_LATER = re.compile(r"\band (\w[\w.-]*) (?:\(|would)")
"""The second robot of a conflict."""


def answer(prompt: str) -> str | None:
    """Return what is said to a prompt of a team, None for any other prompt."""
    if prompt.startswith(_SPLIT):
        return _errands(prompt)
    if prompt.startswith(_PLANNER):
        return json.dumps(_plan(prompt))
    if _CRITIC in prompt:
        return "I Agree"
    if _ROBOT in prompt:
        return f"Each of us takes one thing. EXECUTE {json.dumps(_plan(prompt))}"
    return None


def _errands(prompt: str) -> str:
    found: dict[str, str] = {}
    for delivery in understand(sentence_in(prompt), vocabulary_of(read_facts(prompt))).deliveries:
        thing, target = delivery.item.thing, delivery.target and delivery.target.place
        source = (delivery.source and delivery.source.area_name) or "anywhere"
        if thing is not None and target and target.thing:
            found[thing.name] = f"{source} -> {target.thing.name}"
    return json.dumps(found)


def _plan(prompt: str) -> dict[str, str]:
    """Share the errands out; of two that are refused together, the second one waits."""
    if refused := _REFUSED.findall(prompt):
        said, why = refused[-1]
        before: dict[str, str] = json.loads(said[said.index("{") :])
        named = _LATER.search(why)
        waits = named[1] if named and named[1] in before else list(before)[-1]
        return {robot: action for robot, action in before.items() if robot != waits}
    return _Assignment(prompt).best()


class _Assignment:
    """Gives as many robots as possible an errand, of those ways the one in which they drive least."""

    def __init__(self, prompt: str) -> None:
        self._apart, self._meeting = _pairs(_APART, prompt), _pairs(_SAME_ROOM, prompt)
        away = {robot: dict(_measured(told)) for robot, told in _METRES.findall(prompt)}
        abilities = _ABILITIES.search(prompt)
        self._choices: list[tuple[str, list[tuple[float, str, str, str]]]] = []
        """Of each robot: metres, thing, place and action of its errands."""
        for line in abilities[1].splitlines() if abilities else ():
            robot, _, actions = line.partition(": ")
            listed = [(one[1], one[3], one[0]) for one in _ACTION.finditer(actions)]
            found = [(away.get(robot, {}).get(thing, 0.0), thing, target, said) for thing, target, said in listed]
            self._choices.append((robot, found))

    def best(self) -> dict[str, str]:
        if len(self._choices) > FEW:
            return self._first()
        plans = self._from(0, {}, 0.0)
        return min(plans, key=lambda plan: (-len(plan[1]), plan[0]))[1]

    def _from(self, number: int, taken: dict[str, str], metres: float) -> Iterator[tuple[float, dict[str, str]]]:
        """All ways for the robots from `number` on; `taken` are the things and places of those before."""
        if number == len(self._choices):
            yield metres, {}
            return
        robot, choices = self._choices[number]
        fitting = [one for one in choices if self._fits(one, taken)]
        for away, thing, target, action in fitting[:MOST_NEAR]:
            meeting = sum(MEETING_M for other in taken if frozenset((thing, other)) in self._meeting)
            for total, rest in self._from(number + 1, {**taken, thing: target}, metres + away + meeting):
                yield total, {robot: action, **rest}
        yield from self._from(number + 1, taken, metres)

    def _first(self) -> dict[str, str]:
        """Of a large team, each robot in turn takes the nearest errand that fits."""
        plan: dict[str, str] = {}
        taken: dict[str, str] = {}
        for robot, choices in self._choices:
            if one := next((one for one in choices if self._fits(one, taken)), None):
                plan[robot], taken[one[1]] = one[3], one[2]
        return plan

    def _fits(self, one: tuple[float, str, str, str], taken: dict[str, str]) -> bool:
        _, thing, target, _ = one
        apart = any(frozenset((thing, other)) in self._apart for other in taken)
        return thing not in taken and target not in taken.values() and not apart


def _pairs(line: re.Pattern[str], prompt: str) -> set[frozenset[str]]:
    told = line.search(prompt)
    return {frozenset(pair.split(" + ")) for pair in told[1].split("; ")} if told else set()


def _measured(told: str) -> Iterator[tuple[str, float]]:
    for part in told.split(", "):
        thing, _, metres = part.rpartition(" ")
        yield thing, float(metres)
