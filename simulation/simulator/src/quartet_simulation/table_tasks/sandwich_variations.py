"""Variations of the sandwich task (RoCo, Figure 5): where foods start, the recipe, and what the robots reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from quartet_simulation.table_arms import ArmAt
from quartet_simulation.table_tasks.sandwich import RECIPES, SIZES, MakeSandwich
from quartet_simulation.table_tasks.task import Box


class SandwichStarts(MakeSandwich):
    """Any four foods start on each side."""

    name: ClassVar[str] = "sandwich_starts"

    def _choose_sides(self, rng: np.random.Generator) -> Mapping[str, Sequence[str]]:
        foods = [str(food) for food in rng.permutation(list(SIZES))]
        return {"left": foods[:4], "right": foods[4:]}


class SandwichRecipes(MakeSandwich):
    """The four recipes take turns, by the seed; the table is that of the task itself."""

    name: ClassVar[str] = "sandwich_recipes"

    def _choose_sandwich(self, rng: np.random.Generator) -> str:
        super()._choose_sandwich(rng)
        return list(RECIPES)[self.seed % len(RECIPES)]


def _mirrored(arm: ArmAt) -> ArmAt:
    assert arm.rail is not None, "arms of the sandwich task have rails"
    (x, y, z), (low, high) = arm.foot, arm.rail
    return replace(arm, foot=(-x, y, z), rail=(-high, -low))


class SandwichReach(MakeSandwich):
    """The robots have changed sides: their feet, rails and reach are mirrored, on the table of the task itself."""

    name: ClassVar[str] = "sandwich_reach"
    arms: ClassVar[tuple[ArmAt, ...]] = tuple(map(_mirrored, MakeSandwich.arms))
    reach: ClassVar[Mapping[str, Box]] = {
        robot: ((-high, -low), along_y, along_z)
        for robot, ((low, high), along_y, along_z) in MakeSandwich.reach.items()
    }
    side: ClassVar[Mapping[str, str]] = {"Chad": "left", "Dave": "right"}


VARIATIONS: dict[str, type[MakeSandwich]] = {
    task.name: task for task in (SandwichStarts, SandwichRecipes, SandwichReach)
}
"""Variations by their names."""
