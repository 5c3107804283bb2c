"""BoxNet2: as BoxNet1, but boxes travel over the corners of the cells, and a corner holds one box.

Chen et al., "Scalable Multi-Robot Collaboration with Large Language Models", ICRA 2024.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from quartet_research.harness.errors import StateError
from quartet_research.harness.world import WAIT, Step, World, limits_of
from quartet_research.planners.grid_worlds.boxnet1 import COLOURS, Cell, arm, cell_of, centre

Corner = tuple[int, int]
"""Row and column of a corner of the grid, which has one more of each than it has cells."""

_BOX_LINE = re.compile(r"box_(\w+) is at corner\[(\d+), (\d+)\]")
_TARGET_LINE = re.compile(r"target_(\w+) is in square\[([\d.]+), ([\d.]+)\]")
_GRID_LINE = re.compile(r"The grid has (\d+) rows and (\d+) columns")
_MOVE = re.compile(r"move\(box_(\w+), (?:corner\[(\d+), (\d+)\]|target_\w+)\)")


class BoxNet2(World):
    """Grid of arms over boxes on corners.

    Args:
        shape: rows and columns of cells.
        boxes: corner of each colour's box that is left.
        targets: cell of each colour's target that is left.
    """

    name: ClassVar[str] = "boxnet2"
    rules: str = (
        "Each square of a grid has one robot arm, named by the centre of its square. Boxes lie on the corners of the "
        "squares. In one time step an arm can move one box from a corner of its own square to another corner of its "
        "own square, or onto a target of the box's colour in its own square, or wait. A corner holds one box: two "
        "boxes on one corner, or two arms at one box, are a collision and the task has failed. A corner is free for "
        "another box in the step after its box has left it or in the same step. A box on its target and the target "
        "are gone. All arms act at once. The task is done when every box is on its target; find the plan with the "
        "fewest time steps."
    )

    def __init__(
        self, shape: tuple[int, int], boxes: Mapping[str, Corner], targets: Mapping[str, Cell], **limits: Any
    ) -> None:
        super().__init__(**limits)
        self.shape = shape
        self.boxes = dict(boxes)
        self.targets = dict(targets)

    @classmethod
    def generate(cls, shape: tuple[int, int], rng: np.random.Generator, step_limit: int) -> Self:
        """Draw one box of each colour on a free corner of any cell, and a target in any cell."""

        def any_cell() -> Cell:
            return int(rng.integers(shape[0])), int(rng.integers(shape[1]))

        boxes: dict[str, Corner] = {}
        for colour in COLOURS:
            while colour not in boxes:
                free = [corner for corner in corners_of(any_cell()) if corner not in boxes.values()]
                if free:
                    boxes[colour] = free[int(rng.integers(len(free)))]
        targets = {colour: any_cell() for colour in COLOURS}
        return cls(shape, boxes, targets, step_limit=step_limit)

    @property
    def robots(self) -> tuple[str, ...]:
        return tuple(arm((row, column)) for row in range(self.shape[0]) for column in range(self.shape[1]))

    def actions(self, robot: str) -> tuple[str, ...]:
        cell = cell_of(robot)
        around = corners_of(cell)
        found: list[str] = []
        for colour, corner in sorted(self.boxes.items()):
            if corner not in around:
                continue
            if self.targets.get(colour) == cell:
                found.append(f"move(box_{colour}, target_{colour})")
            found += [
                f"move(box_{colour}, corner[{row}, {column}])" for row, column in around if (row, column) != corner
            ]
        return (*found, WAIT)

    @property
    def done(self) -> bool:
        return not self.boxes

    def _apply(self, plan: Mapping[str, str]) -> Step:
        moved: dict[str, Corner | None] = {}
        for robot, action in plan.items():
            match = _MOVE.fullmatch(action)
            assert match is not None, "`step` has checked it"
            colour, row, column = match.groups()
            if colour in moved:
                return Step(collision=f"{robot} and another arm move box_{colour}")
            moved[colour] = None if row is None else (int(row), int(column))
        after = {colour: corner for colour, at in self.boxes.items() if (corner := moved.get(colour, at)) is not None}
        crowded = [corner for corner, count in Counter(after.values()).items() if count > 1]
        for colour, corner in moved.items():
            if corner is None:
                del self.targets[colour]
        self.boxes = after
        if crowded:
            return Step(collision=f"two boxes at corner[{crowded[0][0]}, {crowded[0][1]}]")
        return Step()

    def describe(self) -> str:
        lines = [f"The grid has {self.shape[0]} rows and {self.shape[1]} columns of squares."]
        lines += [f"box_{colour} is at corner[{row}, {column}]" for colour, (row, column) in sorted(self.boxes.items())]
        lines += [f"target_{colour} is in square[{centre(cell)}]" for colour, cell in sorted(self.targets.items())]
        return "\n".join(lines)

    def describe_robot(self, robot: str) -> str:
        cell = cell_of(robot)
        around = corners_of(cell)
        seen = [
            f"box_{colour} at corner[{at[0]}, {at[1]}]" for colour, at in sorted(self.boxes.items()) if at in around
        ]
        seen += [f"target_{colour}" for colour, where in sorted(self.targets.items()) if where == cell]
        return f"{robot} stands in square[{centre(cell)}], which has {', '.join(seen) or 'nothing'}."

    @classmethod
    def parse(cls, text: str) -> Self:
        grid = _GRID_LINE.search(text)
        if grid is None:
            raise StateError(f"no line 'The grid has R rows and C columns of squares.' in {text[:200]!r}")
        boxes = {colour: (int(row), int(column)) for colour, row, column in _BOX_LINE.findall(text)}
        targets = {colour: (int(float(row)), int(float(column))) for colour, row, column in _TARGET_LINE.findall(text)}
        return cls((int(grid[1]), int(grid[2])), boxes, targets, step_limit=1)

    def state(self) -> dict[str, Any]:
        return {
            "world": self.name,
            "shape": list(self.shape),
            "boxes": {colour: list(corner) for colour, corner in self.boxes.items()},
            "targets": {colour: list(cell) for colour, cell in self.targets.items()},
            **self.limits,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        try:
            rows, columns = state["shape"]
            return cls(
                (int(rows), int(columns)),
                {colour: (int(row), int(column)) for colour, (row, column) in state["boxes"].items()},
                {colour: (int(row), int(column)) for colour, (row, column) in state["targets"].items()},
                **limits_of(state),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"no state of {cls.name}: {error!r}") from error


def corners_of(cell: Cell) -> tuple[Corner, ...]:
    """Return the four corners of a cell."""
    row, column = cell
    return ((row, column), (row, column + 1), (row + 1, column), (row + 1, column + 1))
