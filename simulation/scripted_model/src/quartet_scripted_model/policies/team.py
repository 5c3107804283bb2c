"""Team talk: split a task into errands, plan one step for all robots, agree to a plan."""

import json
import re

from quartet_scripted_model.conversation import read_facts, sentence_in
from quartet_scripted_model.language.understand import understand
from quartet_scripted_model.language.vocabulary import vocabulary_of

_SPLIT, _PLANNER, _CRITIC = "You split a task into errands", "You are the central planner", "A central planner has made"
_ROBOT = "one of several robots that plan together"
_ABILITIES = re.compile(r"# What each robot can do now\n(.*?)\n\s*(?:#|$)", re.DOTALL)
_ACTION = re.compile(r"move\(([^,()]+), ([^,()]+), ([^,()]+)\)")
_REFUSED = re.compile(r"Your last answer was:\n(.*?)\n\nIt was refused: (.*)", re.DOTALL)
_APART = re.compile(r"^Do not go together: (.*)$", re.MULTILINE)
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
    """Give each robot the first errand that goes with the others'; of two in conflict, the second one waits."""
    if refused := _REFUSED.findall(prompt):
        said, why = refused[-1]
        before: dict[str, str] = json.loads(said[said.index("{") :])
        named = _LATER.search(why)
        waits = named[1] if named and named[1] in before else list(before)[-1]
        return {robot: action for robot, action in before.items() if robot != waits}
    plan: dict[str, str] = {}
    taken: set[str] = set()
    told = _APART.search(prompt)
    apart = {frozenset(pair.split(" + ")) for pair in told[1].split("; ")} if told else set[frozenset[str]]()
    abilities = _ABILITIES.search(prompt)
    for line in abilities[1].splitlines() if abilities else ():
        robot, _, actions = line.partition(": ")
        for one in _ACTION.finditer(actions):
            thing, _, target = one.groups()
            if not taken & {thing, target} and not any({thing, other} in apart for other in taken):
                plan[robot] = one[0]
                taken |= {thing, target}
                break
    return plan
