"""Talk of a RoCo team at a table: each robot says what it holds, reaches and sees; the last one plans for all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_MARK = "# Output\nWhen the plan of all robots is ready, write the word EXECUTE"
_ME = re.compile(r"^You are (\S+), one of several robots that plan together", re.MULTILINE)
_BRING = re.compile(r"^Bring the (.+) to the (.+)\.$", re.MULTILINE)
_LINE = re.compile(r"^NAME (\S+) ACTION <", re.MULTILINE)
_HELD = re.compile(r"^You hold the (.+)\.$", re.MULTILINE)
_SEEN = re.compile(r"^- (.+?)(?: on the (.+?))? at \([^)]*\): (.+)$", re.MULTILINE)
_SAID = re.compile(r"^(\S+): I hold (.+)\. I reach: (.*)\. I see: (.*)\.", re.MULTILINE)
_TARGETS = re.compile(r"^  targets: (.+)$", re.MULTILINE)
_REFUSED = "This plan was refused"


@dataclass(frozen=True)
class _Report:
    """Observation of a robot, as it tells the others."""

    held: str
    reach: frozenset[str]
    on: Mapping[str, str]
    """Place of each thing that it sees on one."""

    def said(self) -> str:
        """Return it in words that `_SAID` reads."""
        on = ", ".join(f"{thing} > {place}" for thing, place in self.on.items())
        return f"I hold {self.held or 'nothing'}. I reach: {', '.join(sorted(self.reach))}. I see: {on}."


def answer(prompt: str) -> str | None:
    """Return what a robot says, None for a prompt of another kind."""
    me = _ME.search(prompt)
    if _MARK not in prompt or me is None:
        return None
    before, _, after = prompt.partition("\nYou observe:\n")
    observed, _, talk = after.partition("\n# ")
    reports = {robot: _read(held, reach, on) for robot, held, reach, on in _SAID.findall(talk)}
    seen = _SEEN.findall(observed)
    held = _HELD.search(observed)
    mine = reports[me[1]] = _Report(
        held[1] if held else "",
        frozenset(name for name, _, reach in seen if reach == "you reach it"),
        {name: place for name, place, _ in seen if place},
    )
    robots = _LINE.findall(before)
    if reports.keys() != set(robots):
        return f"{mine.said()} PROCEED"
    places = _TARGETS.search(before)
    plan = _plan(robots, reports, dict(_BRING.findall(before)), set(places[1].split(", ")) if places else set())
    if (refused := talk.count(_REFUSED)) and plan:
        # Not all at once: at each refusal another one acts alone.
        alone = list(plan)[(refused - 1) % len(plan)]
        plan = {alone: plan[alone]}
    lines = [f"NAME {robot} ACTION {plan.get(robot, 'WAIT')}" for robot in robots]
    return "\n".join([mine.said(), "EXECUTE", *lines])


def _read(held: str, reach: str, on: str) -> _Report:
    pairs = [one.split(" > ") for one in on.split(", ") if one]
    places = {pair[0]: pair[1] for pair in pairs}
    return _Report("" if held == "nothing" else held, frozenset(reach.split(", ")), places)


def _plan(
    robots: list[str], reports: Mapping[str, _Report], targets: Mapping[str, str], valid: set[str]
) -> dict[str, str]:
    """Return an action of each robot that has one: towards the target, or to a place that a robot near it reaches."""
    on = {thing: place for one in reports.values() for thing, place in one.on.items()}
    taken, gone = set(on.values()), {one.held for one in reports.values()}
    plan: dict[str, str] = {}
    for robot in robots:
        mine, others = reports[robot], [one for name, one in reports.items() if name != robot]
        if mine.held:
            target = targets.get(mine.held, "")
            shared = {place for one in others if target in one.reach for place in one.reach & mine.reach}
            places = [target] if target in mine.reach else sorted((shared & valid) - set(targets.values()))
            if free := [place for place in places if place not in taken]:
                plan[robot] = f"PLACE {mine.held} {free[0]}"
                taken.add(free[0])
            continue
        for thing, target in targets.items():
            better = target not in mine.reach and any({thing, target} <= one.reach for one in others)
            if thing in mine.reach - gone and on.get(thing) != target and not better:
                plan[robot] = f"PICK {thing}"
                gone.add(thing)
                break
    return plan
