"""Team talk: split a task into errands, plan one step for all robots, agree to a plan."""

import json
import re

from quartet_scripted_model.conversation import read_facts, sentence_in
from quartet_scripted_model.language.grammar import SIMPLE_ENGLISH, NotUnderstoodError, read
from quartet_scripted_model.language.vocabulary import vocabulary_of

_SPLIT, _PLANNER, _CRITIC = "You split a task into errands", "You are the central planner", "A central planner has made"
_ROBOT = "one of several robots that plan together"
_ABILITIES = re.compile(r"# What each robot can do now\n(.*?)\n\s*(?:#|$)", re.DOTALL)
_ACTION = re.compile(r"move\(([^,()]+), ([^,()]+), ([^,()]+)\)")
_REFUSED = re.compile(r"Your last answer was:\n(.*?)\n\nIt was refused: (.*)", re.DOTALL)
_SOONEST = re.compile(r"^Soonest done, by an estimate \(\d+ s\): (.*)$", re.MULTILINE)
_TAKES = re.compile(r"(\S+) takes ([^,;]+)")
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
    """Return the errands of the sentence, or why they are not all that it asks for."""
    try:
        request = read(sentence_in(prompt), vocabulary_of(read_facts(prompt)))
    except NotUnderstoodError as error:
        return f"{SIMPLE_ENGLISH} {error}"
    found: dict[str, str] = {}
    for delivery in request.deliveries:
        thing, target = delivery.item.thing, delivery.target and delivery.target.place
        source = delivery.source.area_name if delivery.source else "anywhere"
        conflict = any(spot and spot.conflict for spot in (delivery.source, delivery.target))
        if thing is None or not source or not target or not target.thing or conflict or delivery.held:
            return f"{SIMPLE_ENGLISH} I need a known name for each thing and its place."
        found[thing.name] = f"{source} -> {target.thing.name}"
    if request.drives or request.ordered:
        return f"{SIMPLE_ENGLISH} For a team, only things to carry, in any order."
    return json.dumps(found)


def _plan(prompt: str) -> dict[str, str]:
    """Share the errands out as estimated to end soonest; of two that are refused together, the second one waits."""
    best = _soonest(prompt)
    refused = _REFUSED.findall(prompt)
    if not refused:
        return best
    said, why = refused[-1]
    before: dict[str, str] = json.loads(said[said.index("{") :])
    if before != best:
        return best
    named = _LATER.search(why)
    waits = named[1] if named and named[1] in before else list(before)[-1]
    return {robot: action for robot, action in before.items() if robot != waits}


def _soonest(prompt: str) -> dict[str, str]:
    """Return the first errand of each robot by the estimate that the prompt tells."""
    abilities, told = _ABILITIES.search(prompt), _SOONEST.search(prompt)
    actions: dict[tuple[str, str], str] = {}
    for line in abilities[1].splitlines() if abilities else ():
        robot, _, listed = line.partition(": ")
        actions |= {(robot, one[1]): one[0] for one in _ACTION.finditer(listed)}
    takes = (
        [found for part in told[1].split("; ") if (found := _TAKES.fullmatch(part.split(", then ")[0]))] if told else []
    )
    return {one[1]: actions[one[1], one[2]] for one in takes if (one[1], one[2]) in actions}
