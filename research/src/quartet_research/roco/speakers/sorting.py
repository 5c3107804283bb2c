"""Role of a robot in the sorting task."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from quartet_research.roco.speakers.prompt import WAIT, Prompt

REACH = re.compile(r"(\w+) reaches ([\w, ]+) and no other panel\.")
_ON = re.compile(r"^(\w+) is on (panel\d)\.", re.MULTILINE)
_GOAL = re.compile(r"(\w+) on (panel\d)")


def sort(prompt: Prompt, robot: str, said: Mapping[str, str]) -> str:
    """Return the first move of a block towards its panel that no other robot has announced."""
    reach = {name: panels.split(", ") for name, panels in REACH.findall(prompt.own)}
    goals = dict(_GOAL.findall(prompt.task))
    taken = {word for action in said.values() for word in action.split()}
    for block, panel in dict(_ON.findall(prompt.own)).items():
        target = next_panel(panel, goals[block], reach[robot])
        if target and block not in taken and not prompt.sits_out(robot):
            return f"PICK {block} PLACE {target}"
    return WAIT


def sort_wrongly(prompt: Prompt, rng: np.random.Generator) -> str:
    """Return a move of any block to any goal."""
    goals = dict(_GOAL.findall(prompt.task))
    return f"PICK {rng.choice(sorted(goals))} PLACE {rng.choice(sorted(goals.values()))}"


def sort_too_far(prompt: Prompt, robot: str) -> str:
    """Return a move of a block that the robot does not reach to its panel; "" if it reaches all."""
    reach, goals = dict(REACH.findall(prompt.own))[robot].split(", "), dict(_GOAL.findall(prompt.task))
    far = (block for block, panel in _ON.findall(prompt.own) if panel not in reach)
    return next((f"PICK {block} PLACE {goals[block]}" for block in far), "")


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
