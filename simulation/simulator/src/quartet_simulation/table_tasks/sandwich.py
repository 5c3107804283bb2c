"""Make sandwich: two arms stack bread and slices on a board, in the order of a recipe."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from quartet_simulation.table_arms import ArmAt, HandPose, Scene, Shape, Thing, build_table
from quartet_simulation.table_tasks.handling import TABLE_TOP, grasp_pose, place_pose
from quartet_simulation.table_tasks.task import Box, TableTask
from quartet_teams.roco import Action, Form, JointPlan, Verb

BOARD, TABLE = "cutting_board", "table"
BOARD_SIZE, BOARD_CENTRE = (0.34, 0.5, 0.04), (0.0, 0.5, 0.16)
SIZES = {
    "bread_slice1": (0.14, 0.14, 0.03),
    "bread_slice2": (0.14, 0.14, 0.03),
    "bacon": (0.12, 0.07, 0.01),
    "cheese": (0.14, 0.14, 0.01),
    "tomato": (0.12, 0.12, 0.01),
    "cucumber": (0.12, 0.12, 0.01),
    "ham": (0.12, 0.12, 0.01),
    "beef_patty": (0.12, 0.12, 0.01),
}
"""Full sizes [m]."""
COLOURS = {
    "bread_slice1": (0.85, 0.65, 0.4, 1),
    "bread_slice2": (0.85, 0.65, 0.4, 1),
    "bacon": (0.75, 0.3, 0.25, 1),
    "cheese": (0.98, 0.85, 0.3, 1),
    "tomato": (0.9, 0.2, 0.15, 1),
    "cucumber": (0.4, 0.7, 0.3, 1),
    "ham": (0.95, 0.65, 0.65, 1),
    "beef_patty": (0.4, 0.25, 0.15, 1),
}
SIDES = {"left": tuple(SIZES)[:4], "right": tuple(SIZES)[4:]}
"""Foods that start on each side of the board; x is negative on the left."""
CELLS_X = {"left": (-0.8, -0.6, -0.4), "right": (0.4, 0.6, 0.8, 1.0)}
CELLS_Y, JITTER = (0.4, 0.6), 0.025
RECIPES = {
    "bacon": ("bacon", "cheese", "tomato"),
    "vegetarian": ("cheese", "tomato", "cucumber"),
    "beef": ("beef_patty", "cheese", "cucumber"),
    "ham": ("ham", "cheese", "tomato", "cucumber"),
}
"""Layers between the slices of bread; the paper names the sandwiches and their numbers of layers."""
NEAR_BOARD = 0.4
"""Distance from the middle of the board within which a food has to be that another is put on [m]."""


class MakeSandwich(TableTask):
    """One episode with a recipe."""

    name: ClassVar[str] = "sandwich"
    arms: ClassVar[tuple[ArmAt, ...]] = (
        ArmAt("Chad", "ur5", (-0.1, -0.2, 0.1), math.pi / 2, (-0.5, 1.3), "suction"),
        ArmAt("Dave", "humanoid", (0.2, 1.06, 0.17), -math.pi / 2, (-1.5, 0.1), "suction"),
    )
    reach: ClassVar[Mapping[str, Box]] = {
        "Chad": ((-0.1, 1.3), (-0.2, 0.7), (TABLE_TOP, 1.0)),
        "Dave": ((-1.4, 0.1), (0.3, 1.5), (TABLE_TOP, 1.0)),
    }
    """Published from 0.16 m up, above the tip of a cup on a slice of 1 cm."""

    side: ClassVar[Mapping[str, str]] = {"Chad": "right", "Dave": "left"}
    """Side on which each robot takes foods."""
    rests: ClassVar[tuple[str, ...]] = (TABLE, BOARD, *SIZES)
    home_after: ClassVar[tuple[Verb, ...]] = ("PICK", "PUT")

    def _build(self, rng: np.random.Generator) -> Scene:
        self.sandwich = self._choose_sandwich(rng)
        middle = [str(name) for name in rng.permutation(RECIPES[self.sandwich])]
        self.recipe = ("bread_slice1", *middle, "bread_slice2")
        self.rules = (
            f"Make a {self.sandwich} sandwich on the cutting_board. From the bottom to the top it has: "
            f"{', '.join(self.recipe)}. Foods lie on the left and on the right of the board. In one round each robot "
            "does one action: it takes one food, or puts down the one that it holds, or waits. At most one robot may "
            f"PUT in a round, whatever its target is. Only {self.recipe[0]} is put on the cutting_board itself; each "
            "other food of the recipe is put on the food below it. Any food may be put on the table instead. The task "
            "is done when the whole stack is on the board."
        )
        half = [value / 2 for value in BOARD_SIZE]
        things = [Thing(BOARD, (Shape("box", half, colour=(0.65, 0.5, 0.35, 1)),), BOARD_CENTRE)]
        for side, foods in self._choose_sides(rng).items():
            cells = list(itertools.product(CELLS_X[side], CELLS_Y))
            for food, cell in zip(foods, rng.permutation(len(cells)), strict=False):
                (x, y), (dx, dy) = cells[cell], rng.uniform(-JITTER, JITTER, 2)
                size = [value / 2 for value in SIZES[food]]
                shape = Shape("box", size, colour=COLOURS[food])
                things.append(Thing(food, (shape,), (x + dx, y + dy, TABLE_TOP + size[2] + 0.001), mass=0.05))
        return build_table(self.arms, things)

    def _choose_sandwich(self, rng: np.random.Generator) -> str:
        return str(rng.choice(list(RECIPES)))

    def _choose_sides(self, rng: np.random.Generator) -> Mapping[str, Sequence[str]]:
        """Return the foods that start on each side."""
        return SIDES

    @property
    def forms(self) -> Mapping[Verb, Form]:
        """PICK, PUT and WAIT."""
        return {
            "PICK": Form(tuple(SIZES), meaning="takes a food that nothing lies on"),
            "PUT": Form(tuple(SIZES), (*SIZES, BOARD, TABLE), meaning="puts the food that the robot holds on a target"),
            "WAIT": Form(meaning="does nothing in this round"),
        }

    @property
    def done(self) -> bool:
        """Whether the foods of the recipe touch from the board upwards, and no hand holds one."""
        chain = [BOARD, *self.recipe]
        touching = all(self._touch(lower, upper) for lower, upper in itertools.pairwise(chain))
        return touching and not any(self.held(robot) for robot in self.robots)

    def _below(self, food: str) -> str:
        """Return the food or board that a food lies on; "" on the table or in a hand."""
        heights = {one: self.scene.position(one)[2] for one in (*SIZES, BOARD)}
        under = sorted((one for one in heights if heights[one] < heights[food]), key=heights.__getitem__, reverse=True)
        return next((one for one in under if self._touch(one, food)), "")

    def _above(self, food: str) -> str:
        return next((one for one in SIZES if one != food and self._below(one) == food), "")

    def capability(self, robot: str) -> str:
        """Return the side of a robot."""
        side = self.side[robot]
        return (
            f"{robot} reaches the foods on the {side} side and the cutting_board, and holds one food at a time. "
            f"With the target table, it puts a food on the {side} side."
        )

    def describe(self) -> str:
        """Return where all foods are."""
        return "\n".join([*map(self._where, SIZES), self._stack(), *map(self._hand, self.robots)])

    def _hand(self, robot: str) -> str:
        return f"{robot} holds {self._holding(robot)}."

    def _stack(self) -> str:
        """Return the foods on the board, from the bottom to the top."""
        stack: list[str] = []
        while above_it := self._above(stack[-1] if stack else BOARD):
            stack.append(above_it)
        return f"The stack on the cutting_board, from the bottom to the top: {', '.join(stack) or 'no food yet'}."

    def _where(self, food: str) -> str:
        if holder := self._holder(food):
            return f"{food} is in the hand of {holder}."
        if below := self._below(food):
            return f"{food} is on {below}."
        return f"{food} is on the {self._side_of(food)} side of the table."

    def _side_of(self, food: str) -> str:
        return "left" if self.scene.position(food)[0] < 0 else "right"

    def describe_robot(self, robot: str) -> str:
        """Return the foods on a robot's own side and on the board, and what it holds."""
        seen = [
            food
            for food in SIZES
            if not self._holder(food) and (self._below(food) or self._side_of(food) == self.side[robot])
        ]
        return "\n".join([*map(self._where, seen), self._stack(), self._hand(robot)])

    def _constraints(self, plan: JointPlan) -> Iterable[str]:
        if sum(action.verb == "PUT" for action in plan.values()) > 1:
            yield "two robots PUT in the same round; let one of them wait."
        for robot, action in plan.items():
            if action.verb == "PICK" and (above_it := self._above(action.object)):
                yield f"{robot} takes {action.object}, on which {above_it} lies."
            if action.verb == "PUT" and action.target != TABLE:
                yield from self._wrong_put(robot, action)

    def _wrong_put(self, robot: str, action: Action) -> Iterable[str]:
        food, target = action.object, action.target
        if food not in self.recipe:
            yield f"{robot} puts {food} on {target}, but it is not in the recipe; put it on the table."
            return
        number = self.recipe.index(food)
        wanted = self.recipe[number - 1] if number else BOARD
        if target != wanted:
            yield f"{robot} puts {food} on {target}; the recipe has it on {wanted}."
        elif target != BOARD and math.dist(self.scene.position(target)[:2], BOARD_CENTRE[:2]) > NEAR_BOARD:
            yield f"{robot} puts {food} on {target}, which is not on the cutting_board yet."

    def _goal(self, action: Action) -> HandPose | None:
        if action.verb == "WAIT":
            return None
        robot, food = action.robot, action.object
        height = SIZES[food][2]
        if action.verb == "PICK":
            return grasp_pose(self.scene, food, height, suction=True)
        tip_z = self.scene.hand_pose(robot).position[2] - self.scene.position(food)[2]
        return place_pose(height, self._spot(robot, action.target), tip_z)

    def _spot(self, robot: str, target: str) -> tuple[float, float, float]:
        """Return the point on which a food is put down [m]."""
        if target == BOARD:
            return BOARD_CENTRE[0], BOARD_CENTRE[1], BOARD_CENTRE[2] + BOARD_SIZE[2] / 2
        if target != TABLE:
            x, y, z = self.scene.position(target)
            return x, y, z + SIZES[target][2] / 2
        taken = [self.scene.position(food)[:2] for food in SIZES if not self._holder(food)]
        cells = list(itertools.product(CELLS_X[self.side[robot]], CELLS_Y))
        x, y = max(cells, key=lambda cell: min(math.dist(cell, other) for other in taken))
        return x, y, TABLE_TOP
