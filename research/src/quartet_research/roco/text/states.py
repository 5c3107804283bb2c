"""States of the tasks about which questions are asked: blocks anywhere, and moments of episodes."""

import asyncio
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quartet_research.roco.speakers import Speakers
from quartet_research.roco.speakers.sorting import next_panel
from quartet_research.roco.table_part import STEPS, play
from quartet_simulation.table_tasks import TASKS, MakeSandwich, SortCubes, TableTask
from quartet_simulation.table_tasks.sandwich import BOARD_CENTRE, BOARD_SIZE, SIZES
from quartet_simulation.table_tasks.sort_cubes import (
    GOALS,
    OUTLINES,
    PANEL_HEIGHT,
    PANEL_X,
    PANEL_Y,
    PANELS,
    TABLE_TOP,
)
from quartet_teams import Discussion
from quartet_teams.roco import Action, Decision, Past, Roco, Scene, plan_text

POOL = 60
"""States of the sorting task."""
PER_EPISODE = 12
"""Questions about one episode."""
TAKES = {block: [panel for panel in PANEL_X if panel not in GOALS.values() or panel == GOALS[block]] for block in GOALS}
"""Panels that each block may be put on."""


@dataclass(frozen=True)
class Moment:
    """An episode before one of its rounds."""

    task: TableTask
    history: str
    """Talk and plan of the executed rounds."""
    held: Mapping[str, str]
    """Object in the hand of each robot that holds one, by contact."""
    places: Mapping[str, str]
    """Panel of each block, or of each food on the board "board", by position."""


def draw_sorting(rng: np.random.Generator) -> SortCubes:
    """Return one of `POOL` states of the sorting task, with blocks on different panels."""
    return _sorting(int(rng.integers(POOL)))


@functools.cache
def _sorting(number: int) -> SortCubes:
    rng, task, drawn = np.random.default_rng(number), SortCubes(number), dict[str, str]()
    while len(set(drawn.values())) < len(GOALS) or drawn == GOALS:
        drawn = {block: str(rng.choice(TAKES[block])) for block in GOALS}
    for block, panel in drawn.items():
        z = TABLE_TOP + PANEL_HEIGHT + OUTLINES[block].height / 2
        task.scene.place(block, (PANEL_X[panel], PANEL_Y, z), float(rng.uniform(-math.pi, math.pi)))
    task.scene.settle()
    return task


def useful_move(task: SortCubes, robot: str, block: str) -> Action | None:
    """Return a robot's move of a block towards its panel, onto an empty panel; None if there is none."""
    panel = next_panel(task.panel_of(block), GOALS[block], PANELS[robot])
    taken = not panel or panel in map(task.panel_of, GOALS)
    return None if taken else Action(robot, "PICK PLACE", block, panel)


@functools.cache
def episode(number: int) -> tuple[Moment, ...]:
    """Return the moments of an episode that the reference speakers play: three of sandwiches, then one of sorting."""
    recorder = _Recorder("sort" if number % 4 == 3 else "sandwich", number)
    asyncio.run(play(recorder.name, number, recorder, Speakers(0.0, number), most_steps=STEPS))
    return tuple(recorder.moments)


class _Recorder(Roco):
    """A team that keeps the moments before its decisions."""

    def __init__(self, name: str, seed: int) -> None:
        super().__init__()
        self.name, self.moments = name, list[Moment]()
        self._seed, self._rounds, self._last = seed, list[str](), ""

    async def decide(self, scene: Scene, past: Past, discussion: Discussion, **limits: Any) -> Decision:
        assert isinstance(scene, TableTask)
        if len(past.rounds) > len(self._rounds):
            self._rounds.append(self._last)
        task = TASKS[self.name](self._seed)
        task.scene.restore(scene.scene.snapshot())
        held = {robot: next(iter(task.held(robot))) for robot in task.robots if task.held(robot)}
        self.moments.append(Moment(task, "\n".join(self._rounds), held, _places(task)))
        decision = await super().decide(scene, past, discussion, **limits)
        number = len(self._rounds) + 1
        self._last = f"Round {number}.\n{decision.chat}\nExecuted plan:\n{plan_text(decision.plan)}"
        return decision


def _places(task: TableTask) -> dict[str, str]:
    if isinstance(task, SortCubes):
        return {block: task.panel_of(block) for block in GOALS}
    held = {name for robot in task.robots for name in task.held(robot)}
    return {food: "board" for food in SIZES if food not in held and _above_board(task, food)}


def _above_board(task: TableTask, food: str) -> bool:
    offsets = zip(task.scene.position(food)[:2], BOARD_CENTRE[:2], BOARD_SIZE[:2], strict=True)
    return all(abs(value - middle) <= size / 2 for value, middle, size in offsets)


def stacked(task: MakeSandwich) -> list[str]:
    """Return the foods of the recipe that lie on the board."""
    places = _places(task)
    return [food for food in task.recipe if food in places]
