"""Role of an agent in the 3D grid: its shortest path around those of the others."""

import re
from collections.abc import Iterable, Mapping

import numpy as np

from quartet_research.roco.grid3d import Grid3D
from quartet_research.roco.grid3d_solver import Path, find_path
from quartet_research.roco.speakers.prompt import Prompt

_CELL = re.compile(r"\((\d+), (\d+), (\d+)\)")


def move(prompt: Prompt, robot: str, said: Mapping[str, str]) -> str:
    """Return a path around those that others announced, or had in the last refused plan."""
    grid = Grid3D.parse(prompt.own)
    announced = {**(prompt.refused[-1] if prompt.refused else {}), **said}
    others = [path for name, action in announced.items() if name != robot and (path := _path(action))]
    ends = grid.starts[robot], grid.goals[robot]
    path = find_path(grid.size, grid.obstacles, *ends, others) or find_path(grid.size, grid.obstacles, *ends)
    assert path is not None, "every grid has a solution"
    return _move(path)


def move_wrongly(prompt: Prompt, rng: np.random.Generator) -> str:
    """Return the straight way of any agent in the prompt, through obstacles and other agents."""
    grid = Grid3D.parse(prompt.own)
    agent = rng.choice(list(grid.starts))
    cell, goal = list(grid.starts[agent]), grid.goals[agent]
    path = [tuple(cell)]
    for axis in rng.permutation(3):
        while cell[axis] != goal[axis]:
            cell[axis] += 1 if cell[axis] < goal[axis] else -1
            path.append(tuple(cell))
    return _move(path)


def _move(path: Iterable[Iterable[int]]) -> str:
    return f"MOVE PATH [{', '.join(map(str, path))}]"


def _path(action: str) -> Path:
    """Return the cells of an announced path; () if it has none."""
    return tuple((int(x), int(y), int(z)) for x, y, z in _CELL.findall(action))
