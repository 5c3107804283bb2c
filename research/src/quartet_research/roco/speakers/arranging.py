"""Role of a robot in the cabinet task."""

import re
from collections.abc import Mapping

import numpy as np

from quartet_research.roco.speakers.prompt import WAIT, Prompt

_REACH = re.compile(r"(\w+) reaches ([\w, ]+)\.")
_DOOR = re.compile(r"^\w+ is (open|closed), with (\w+) at", re.MULTILINE)
_HOLDS = re.compile(r"^Gripper of (\w+): .+, holding (\w+)\.", re.MULTILINE)
_WHERE = re.compile(r"^(\w+) is (?:on|in|inside) (?:the )?(\w+)", re.MULTILINE)
_GOAL = re.compile(r"the (\w+) on (\w+_coaster)")


def arrange(prompt: Prompt, robot: str, said: Mapping[str, str]) -> str:
    """Return what the robot does with the handle that it reaches, or, once all doors are open, with mug or cup.

    An action with which the robot was refused while all others waited is left to the others; the last robot repeats it
    if no other acts, and a robot that holds a handle always, because no other can open its door.
    """
    reach = dict(_REACH.findall(prompt.own))[robot].split(", ")
    closed = [handle for state, handle in _DOOR.findall(prompt.own) if state == "closed"]
    held, where = dict(_HOLDS.findall(prompt.own))[robot], dict(_WHERE.findall(prompt.own))
    if held in closed:
        options = [f"OPEN {held}"]
    elif closed:
        options = [f"PICK {handle}" for handle in closed if handle in reach]
    else:
        goals = {name: coaster for name, coaster in _GOAL.findall(prompt.task) if where.get(name) != coaster}
        taken = {word for action in said.values() for word in action.split()}
        options = [f"PICK {name} PLACE {goals[name]}" for name in reach if name in goals and name not in taken]
    if held not in closed and (robot != prompt.robots[-1] or any(action != WAIT for action in said.values())):
        others = [one for one in prompt.robots if one != robot]
        alone = [plan for plan in prompt.refused if all(plan.get(one, WAIT) == WAIT for one in others)]
        options = [option for option in options if option not in [plan.get(robot) for plan in alone]]
    return options[0] if options and not prompt.sits_out(robot) else WAIT


def arrange_wrongly(prompt: Prompt, rng: np.random.Generator) -> str:
    """Return the PICK or OPEN of any handle, or a move of any object to any coaster."""
    handle = rng.choice([handle for _, handle in _DOOR.findall(prompt.own)])
    goals = dict(_GOAL.findall(prompt.task))
    moved = f"PICK {rng.choice(sorted(goals))} PLACE {rng.choice(sorted(goals.values()))}"
    return str(rng.choice([f"PICK {handle}", f"OPEN {handle}", moved]))
