"""Role of a robot in the sandwich task."""

import re
from collections.abc import Mapping

import numpy as np

from quartet_research.roco.speakers.prompt import WAIT, Prompt

RECIPE = re.compile(r"From the bottom to the top it has: ([\w, ]+)\.")
SIDE = re.compile(r"(\w+) reaches the foods on the (left|right) side")
LIES = re.compile(r"^(\w+) is on the (left|right) side of the table\.", re.MULTILINE)
STACKED = re.compile(r"^(\w+) is on (\w+)\.", re.MULTILINE)
HOLDS = re.compile(r"^(\w+) holds (\w+)\.", re.MULTILINE)


def stack(prompt: Prompt, robot: str, said: Mapping[str, str]) -> str:
    """Return the PUT of the next layer if the robot holds it, or the PICK of its next food of the recipe."""
    recipe = _recipe(prompt)
    stacked = dict(STACKED.findall(prompt.own))
    held = {name: food for name, food in HOLDS.findall(prompt.own) if food != "nothing"}
    left = [food for food in recipe if food not in stacked]
    if prompt.sits_out(robot) or not left:
        return WAIT
    if mine := held.get(robot):
        if mine not in recipe:
            return f"PUT {mine} table"
        busy = any(action.startswith("PUT") for action in said.values())
        place = recipe.index(mine)
        return f"PUT {mine} {recipe[place - 1] if place else 'cutting_board'}" if mine == left[0] and not busy else WAIT
    side = dict(SIDE.findall(prompt.own))[robot]
    lying = [food for food, where in LIES.findall(prompt.own) if where == side]
    return next((f"PICK {food}" for food in left if food in lying), WAIT)


def stack_wrongly(prompt: Prompt, rng: np.random.Generator) -> str:
    """Return a PICK or PUT of any food of the recipe."""
    food = rng.choice(_recipe(prompt))
    return f"PICK {food}" if rng.random() < 0.5 else f"PUT {food} cutting_board"


def stack_too_far(prompt: Prompt, robot: str) -> str:
    """Return a PICK of a food of the recipe that the robot does not observe; "" if it observes all."""
    observed = {food for food, _ in (*LIES.findall(prompt.own), *STACKED.findall(prompt.own))}
    observed |= {food for _, food in HOLDS.findall(prompt.own)}
    return next((f"PICK {food}" for food in _recipe(prompt) if food not in observed), "")


def _recipe(prompt: Prompt) -> list[str]:
    found = RECIPE.search(prompt.task)
    assert found is not None, "the task names its recipe"
    return found[1].split(", ")
