"""Reference speakers of RoCo: each robot by rules, from its own prompt, with faults at a given rate.

Their figures say nothing about a language model. A speaker knows what its prompt contains: its capability, its
observation, what was said, and plans that were refused. It does not interpret the text of feedback.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quartet_research.harness.speakers import RuleSpeakers
from quartet_teams.roco import PLANNER

WAIT = "WAIT"
_REACH = re.compile(r"^Goal of (\w+): (\w+) on (\w+)\. \1 reaches ([\w, ]+) and no other panel\.", re.MULTILINE)
_ON = re.compile(r"^(\w+) is on (panel\d)\.", re.MULTILINE)
_LINE = re.compile(r"^\s*NAME (\w+) ACTION (.+)$", re.MULTILINE)
_SAID = re.compile(r"^(\w+): I will (.+)\.$", re.MULTILINE)
_GOAL = re.compile(r"(\w+) on (panel\d)")
_ROBOTS = re.compile(r"plan(?: for all robots| together): ([\w, ]+)\.")


@dataclass(frozen=True)
class View:
    """Content of a prompt of the sorting task."""

    robots: tuple[str, ...]
    reach: Mapping[str, tuple[str, ...]]
    """Panels in reach, of the robots whose capability the prompt has."""
    goals: Mapping[str, str]
    panels: Mapping[str, str]
    """Panel of each block."""
    refused: tuple[Mapping[str, str], ...]
    """Plans that were refused in this step, or failed in execution since the last success."""


class Speakers(RuleSpeakers):
    """Answers the prompts of all participants of the sorting task.

    Args:
        rate: of each fault: a wrong action, a missing keyword, a missing robot, an early EXECUTE.
        seed: of the faults.
    """

    def __init__(self, rate: float, seed: int) -> None:
        super().__init__(seed)
        self._rate = rate

    def _answer(self, participant: str, parts: dict[str, str]) -> str:
        view = read_view(parts)
        if participant == PLANNER:
            said: dict[str, str] = {}
            for robot in view.robots:
                said[robot] = self._own(view, robot, said)
            return self._execute(view, said)
        said = dict(_SAID.findall(parts["Talk now"]))
        said[participant] = self._own(view, participant, {k: v for k, v in said.items() if k != participant})
        if set(said) >= set(view.robots) or self._chance(self._rate):
            return self._execute(view, said)
        return f"I will {said[participant]}.\nPROCEED"

    def _own(self, view: View, robot: str, said: Mapping[str, str]) -> str:
        """Return a robot's action: the first move towards a goal of a block that no other robot moves."""
        if self._chance(self._rate):
            block = str(self._rng.choice(sorted(view.panels)))
            return f"PICK {block} PLACE {self._rng.choice(sorted(set(view.goals.values())))}"
        taken = {word for action in said.values() for word in action.split()}
        for block, panel in view.panels.items():
            target = next_panel(panel, view.goals[block], view.reach[robot])
            action = f"PICK {block} PLACE {target}"
            if target and block not in taken and not _sits_out(view, robot):
                return action
        return WAIT

    def _execute(self, view: View, said: Mapping[str, str]) -> str:
        lines = [f"NAME {robot} ACTION {said.get(robot, WAIT)}" for robot in view.robots]
        if self._chance(self._rate / 2):
            lines = lines[1:]
        keyword = "" if self._chance(self._rate / 2) else "EXECUTE\n"
        return keyword + "\n".join(lines)


def next_panel(panel: str, goal: str, reach: Sequence[str]) -> str:
    """Return the panel to which a robot with this reach should move a block; "" if it cannot help."""
    if panel == goal or panel not in reach:
        return ""
    if goal in reach:
        return goal
    nearer = [one for one in reach if _distance(one, goal) < _distance(panel, goal) and one in ("panel3", "panel5")]
    return min(nearer, key=lambda one: _distance(one, goal), default="")


def _distance(one: str, other: str) -> int:
    return abs(int(one.removeprefix("panel")) - int(other.removeprefix("panel")))


def _sits_out(view: View, robot: str) -> bool:
    """Return whether a robot waits, since plans were refused: after each, another robot; then all but one."""
    if not view.refused:
        return False
    acting = [name for name in view.robots if view.refused[0].get(name, WAIT).strip() != WAIT]
    tries = len(view.refused) - 1
    if not acting:
        return False
    if tries < len(acting):
        return robot == acting[tries]
    return robot != acting[tries % len(acting)]


def read_view(parts: Mapping[str, str]) -> View:
    """Return what a prompt says about the sorting task."""
    own = parts.get("Yourself", "") + "\n" + parts.get("Robots", "")
    reach = {robot: tuple(panels.split(", ")) for robot, _, _, panels in _REACH.findall(re.sub(r"(?m)^\w+: ", "", own))}
    robots = _ROBOTS.search(own)
    assert robots is not None, "every prompt names the robots"
    refused = [dict(_LINE.findall(text)) for text in _plans(parts["Feedback"])]
    refused += [dict(_LINE.findall(text)) for text in _plans(parts["Plans that failed in execution"])]
    return View(
        tuple(robots[1].split(", ")),
        reach,
        dict(_GOAL.findall(parts["Task"])),
        dict(_ON.findall(own)),
        tuple(plan for plan in refused if plan),
    )


def _plans(text: str) -> list[str]:
    """Return the parts of a text that have one plan each: a robot that comes twice begins another plan."""
    plans: list[list[str]] = [[]]
    seen: set[str] = set()
    for line in text.splitlines():
        named = _LINE.match(line)
        if named is None:
            continue
        if named[1] in seen:
            plans.append([])
            seen = set()
        seen.add(named[1])
        plans[-1].append(line)
    return ["\n".join(lines) for lines in plans]
