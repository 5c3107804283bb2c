"""Grid3D: three agents find paths through a cubic grid with obstacles, without collisions.

Mandi et al., "RoCo: Dialectic Multi-Robot Collaboration with Large Language Models", ICRA 2024. The paper gives the
sizes 5 and 10, three agents and random obstacles; the number of obstacles is ours.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import Self

import numpy as np

from quartet_research.harness.errors import SizeError, StateError
from quartet_research.roco.grid3d_solver import Cell, solve
from quartet_teams import Complaint, check_in_order
from quartet_teams.roco import Form, JointPlan, Verb

AGENTS = ("Alice", "Bob", "Chad")
PUBLISHED_SIZES = (5, 10)
SIZES = (3, 20)
"""Smallest and largest size."""
OBSTACLE_SHARE = 0.12
"""Share of the cells that are obstacles: 15 of 125, 120 of 1000."""
MOST_DRAWS = 200
"""Instances drawn until one has a solution."""
MOST_COMPLAINTS = 20
FORMS: Mapping[Verb, Form] = {"MOVE": Form(path=True, meaning="follow the path")}
_SIZE_LINE = re.compile(r"The grid has (\d+) x \1 x \1 cells")
_AGENT_LINE = re.compile(r"^(\w+) starts at \((\d+), (\d+), (\d+)\), its goal is \((\d+), (\d+), (\d+)\)", re.MULTILINE)
_OBSTACLES_LINE = re.compile(r"^Obstacles: (.*)$", re.MULTILINE)
_CELL = re.compile(r"\((\d+), (\d+), (\d+)\)")


@dataclass(frozen=True)
class Grid3D:
    """One instance. A plan is a path of each agent: its cells from start to goal, one for each time step."""

    size: int
    obstacles: frozenset[Cell]
    starts: Mapping[str, Cell]
    goals: Mapping[str, Cell]
    equal_paths = False
    rules = (
        "Agents move through a cubic grid, all at the same time. In one time step an agent moves to a neighbouring "
        "cell: one coordinate changes by one. An agent that has reached the end of its path stays there. No agent may "
        "enter an obstacle or leave the grid, two agents may not be in one cell at the same time, and two agents may "
        "not exchange their cells in one time step. The task is done when every agent is at its goal; find short paths."
    )
    path_rules = (
        "A PATH is the list of all cells that the agent is in, in order, from its start to its goal: one cell for each "
        "time step, the start first. Paths may have different lengths."
    )
    forms = FORMS

    @classmethod
    def generate(cls, size: int, seed: int) -> Self:
        """Return the first instance drawn by a seed that has a solution.

        Args:
            size: cells along each axis.
            seed: at least 0; the same seed gives the same instance on every machine (NumPy's PCG64).

        Raises:
            SizeError: there is no grid of this size, or no solvable one was found.
        """
        if not SIZES[0] <= size <= SIZES[1]:
            raise SizeError(f"grid3d of size {size}: from {SIZES[0]} to {SIZES[1]} are possible")
        cells = list(product(range(size), range(size), range(size)))
        count = round(OBSTACLE_SHARE * len(cells))
        rng = np.random.default_rng([size, count, seed])
        for _ in range(MOST_DRAWS):
            drawn = [cells[int(index)] for index in rng.permutation(len(cells))[: count + 2 * len(AGENTS)]]
            ends = drawn[count:]
            starts: dict[str, Cell] = dict(zip(AGENTS, ends[: len(AGENTS)], strict=True))
            goals: dict[str, Cell] = dict(zip(AGENTS, ends[len(AGENTS) :], strict=True))
            found = cls(size, frozenset(drawn[:count]), starts, goals)
            if found.solution() is not None:
                return found
        raise SizeError(f"no instance with a solution in {MOST_DRAWS} grids of size {size} with {count} obstacles")

    @property
    def robots(self) -> tuple[str, ...]:
        """Names of the agents, in speaking order."""
        return tuple(self.starts)

    def solution(self) -> dict[str, tuple[Cell, ...]] | None:
        """Return paths that the solver found, None if it found none."""
        return solve(self.size, self.obstacles, self.starts, self.goals)

    def capability(self, robot: str) -> str:
        """Return what an agent can do: the same for all."""
        return f"{robot} moves one cell along x, y or z in each time step."

    def held(self, robot: str) -> tuple[str, ...]:
        """Return (): agents of a grid hold nothing."""
        return ()

    def check(self, plan: JointPlan) -> list[Complaint]:
        """Return what is wrong with the paths, with the offending steps; [] if every agent reaches its goal.

        Collisions are looked for only in paths that keep the other rules.
        """
        found = check_in_order(plan, {"constraints": self._broken_rules, "collision": self._collisions})
        more = len(found) - MOST_COMPLAINTS
        return found if more <= 0 else [*found[:MOST_COMPLAINTS], (found[0][0], f"There are {more} more faults.")]

    def _broken_rules(self, plan: JointPlan) -> Iterator[str]:
        for agent, path in ((agent, plan[agent].path) for agent in self.robots):
            if tuple(path[0]) != self.starts[agent]:
                yield f"{agent} starts at {self.starts[agent]}, but its path begins at {_shown(path[0])}."
            if tuple(path[-1]) != self.goals[agent]:
                yield f"The goal of {agent} is {self.goals[agent]}, but its path ends at {_shown(path[-1])}."
            for number, point in enumerate(path):
                if any(value not in range(self.size) for value in point):
                    yield f"{agent}, step {number}: {_shown(point)} is no cell of the grid, 0 to {self.size - 1}."
            for number, (before, after) in enumerate(pairwise(path), 1):
                if sorted(abs(b - a) for a, b in zip(before, after, strict=True)) != [0, 0, 1]:
                    yield f"{agent}, step {number}: from {_shown(before)} to {_shown(after)} is no step to a neighbour."

    def _collisions(self, plan: JointPlan) -> Iterator[str]:
        paths = {agent: [_cell(point) for point in plan[agent].path] for agent in self.robots}
        for agent, path in paths.items():
            for number, cell in enumerate(path):
                if cell in self.obstacles:
                    yield f"{agent}, step {number}: {cell} is an obstacle."
        length = max(map(len, paths.values()))
        where = {agent: [*path, *[path[-1]] * (length - len(path))] for agent, path in paths.items()}
        for (one, mine), (other, theirs) in combinations(where.items(), 2):
            for number in range(length):
                if mine[number] == theirs[number]:
                    yield f"{one} and {other}, step {number}: both are at {mine[number]}."
                elif number and (mine[number], theirs[number]) == (theirs[number - 1], mine[number - 1]):
                    yield f"{one} and {other}, step {number}: they exchange {theirs[number]} and {mine[number]}."

    def describe(self) -> str:
        """Return the instance as text; `parse` reads it back."""
        return "\n".join([self._describe_grid(), *map(self._describe_task, self.robots)])

    def describe_robot(self, robot: str) -> str:
        """Return the grid, and start and goal of one agent, as text."""
        return f"{self._describe_grid()}\n{self._describe_task(robot)}"

    def _describe_grid(self) -> str:
        obstacles = ", ".join(map(str, sorted(self.obstacles))) or "none"
        return (
            f"The grid has {self.size} x {self.size} x {self.size} cells; coordinates go from 0 to {self.size - 1}.\n"
            f"Obstacles: {obstacles}"
        )

    def _describe_task(self, robot: str) -> str:
        return f"{robot} starts at {self.starts[robot]}, its goal is {self.goals[robot]}."

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the instance that `describe` has rendered. Raises StateError."""
        size, obstacles = _SIZE_LINE.search(text), _OBSTACLES_LINE.search(text)
        if size is None or obstacles is None:
            raise StateError(f"no lines 'The grid has N x N x N cells' and 'Obstacles: ...' in {text[:200]!r}")
        agents = {name: values for name, *values in _AGENT_LINE.findall(text)}
        return cls(
            int(size[1]),
            frozenset(map(_cell, _CELL.findall(obstacles[1]))),
            {name: _cell(values[:3]) for name, values in agents.items()},
            {name: _cell(values[3:]) for name, values in agents.items()},
        )


def _cell(point: Sequence[float | str]) -> Cell:
    x, y, z = (int(value) for value in point)
    return x, y, z


def _shown(point: Sequence[float]) -> str:
    return f"({', '.join(f'{value:g}' for value in point)})"
