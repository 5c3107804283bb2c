"""Role of a robot in the sweep task."""

import re
from collections.abc import Mapping

import numpy as np

from quartet_research.roco.speakers.prompt import WAIT, Prompt

_CUBE = re.compile(r"^(\w+): \(-?[\d.]+, (-?[\d.]+), -?[\d.]+\), \w+ the (\w+)$", re.MULTILINE)
_TOOL = re.compile(r"(\w+) holds the (\w+) .+ At a cube, it is ([\d.]+) from it\.$", re.MULTILINE)
_DISTANCES = re.compile(r"^Gripper of (\w+): .+\. Its distances: (.+)$", re.MULTILINE)
_DISTANCE = re.compile(r"([\d.]+) to (\w+)")
AT_CUBE = 0.03
"""Difference to the distance at a cube up to which a tool counts as there [m]."""


def sweep(prompt: Prompt, robot: str, said: Mapping[str, str]) -> str:
    """Return the robot's part in sweeping the cube with the smallest y that is on the table.

    Both robots move to it. Then the one with the dustpan waits, and the other sweeps. After refusals they move again,
    in turn one alone, and after two refusals to the next cube.
    """
    lying = [
        name for _, name in sorted((float(y), name) for name, y, where in _CUBE.findall(prompt.own) if where == "table")
    ]
    tool, reach = {name: (tool, float(away)) for name, tool, away in _TOOL.findall(prompt.own)}[robot]
    if not lying:
        return "DUMP" if tool == "dustpan" else WAIT
    if prompt.sits_out(robot):
        return WAIT
    cube = lying[len(prompt.refused) // 2 % len(lying)]
    distances = {name: float(away) for away, name in _DISTANCE.findall(dict(_DISTANCES.findall(prompt.own))[robot])}
    if prompt.refused or abs(distances[cube] - reach) > AT_CUBE:
        return f"MOVE {cube}"
    other_waits = all(action == WAIT for action in said.values())
    return f"SWEEP {cube}" if tool == "broom" and other_waits else WAIT


def sweep_wrongly(prompt: Prompt, rng: np.random.Generator) -> str:
    """Return a MOVE or SWEEP of any cube, or an early DUMP."""
    cube = rng.choice([name for name, _, _ in _CUBE.findall(prompt.own)])
    return str(rng.choice([f"MOVE {cube}", f"SWEEP {cube}", "DUMP"]))
