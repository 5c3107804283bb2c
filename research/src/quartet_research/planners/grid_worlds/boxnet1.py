"""BoxNet1: one arm in each cell of a grid hands boxes from cell to cell, to the target of their colour.

Chen et al., "Scalable Multi-Robot Collaboration with Large Language Models", ICRA 2024.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from quartet_research.harness.errors import StateError
from quartet_research.harness.world import WAIT, Step, World, limits_of

COLOURS = ("blue", "red", "green", "purple", "orange")
MOST_PER_COLOUR = 3
_CELL_LINE = re.compile(r"square\[([\d.]+), ([\d.]+)\]: (.+)")
_GRID_LINE = re.compile(r"The grid has (\d+) rows and (\d+) columns")
_MOVE = re.compile(r"move\(box_(\w+), (square|target)[\[_](.+?)\]?\)")

Cell = tuple[int, int]
"""Row and column."""


def centre(cell: Cell) -> str:
    """Return the coordinates of a cell's centre as the names of arms and squares have them."""
    return f"{cell[0] + 0.5}, {cell[1] + 0.5}"


def arm(cell: Cell) -> str:
    """Return the name of the arm in a cell."""
    return f"Agent[{centre(cell)}]"


def cell_of(text: str) -> Cell:
    """Return the cell of a name such as `Agent[0.5, 1.5]`."""
    row, column = re.findall(r"[\d.]+", text)
    return int(float(row)), int(float(column))


class BoxNet1(World):
    """Grid of arms; a cell holds any number of boxes and targets, so that nothing collides.

    Args:
        shape: rows and columns.
        boxes: colours of the boxes in each cell.
        targets: colours of the targets in each cell; a target takes one box.
    """

    name: ClassVar[str] = "boxnet1"
    rules: str = (
        "Each square of a grid has one robot arm, named by the centre of its square. In one time step an arm can move "
        "one box that is in its own square to a square next to it (no diagonals), or onto a target of the box's colour "
        "in its own square, or wait. A box on a target and the target are gone. All arms act at once. The task is done "
        "when every box is on a target of its colour; find the plan with the fewest time steps."
    )

    def __init__(
        self, shape: tuple[int, int], boxes: Mapping[Cell, list[str]], targets: Mapping[Cell, list[str]], **limits: Any
    ) -> None:
        super().__init__(**limits)
        self.shape = shape
        self.boxes = {cell: Counter(found) for cell, found in boxes.items() if found}
        self.targets = {cell: Counter(found) for cell, found in targets.items() if found}

    @classmethod
    def generate(cls, shape: tuple[int, int], rng: np.random.Generator, step_limit: int) -> Self:
        """Draw 1 to 3 boxes of each colour and as many targets, anywhere in the grid."""
        boxes: dict[Cell, list[str]] = {}
        targets: dict[Cell, list[str]] = {}
        for colour in COLOURS:
            for _ in range(int(rng.integers(1, MOST_PER_COLOUR + 1))):
                for where in (boxes, targets):
                    cell = (int(rng.integers(shape[0])), int(rng.integers(shape[1])))
                    where.setdefault(cell, []).append(colour)
        return cls(shape, boxes, targets, step_limit=step_limit)

    @property
    def cells(self) -> list[Cell]:
        """All cells, row by row."""
        return [(row, column) for row in range(self.shape[0]) for column in range(self.shape[1])]

    def neighbours(self, cell: Cell) -> list[Cell]:
        """Return the cells next to one, within the grid."""
        row, column = cell
        near = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        return [(r, c) for r, c in near if 0 <= r < self.shape[0] and 0 <= c < self.shape[1]]

    @property
    def robots(self) -> tuple[str, ...]:
        return tuple(arm(cell) for cell in self.cells)

    def actions(self, robot: str) -> tuple[str, ...]:
        cell = cell_of(robot)
        found: list[str] = []
        for colour in sorted(self.boxes.get(cell, ())):
            if self.targets.get(cell, Counter())[colour]:
                found.append(f"move(box_{colour}, target_{colour})")
            found += [f"move(box_{colour}, square[{centre(near)}])" for near in self.neighbours(cell)]
        return (*found, WAIT)

    @property
    def done(self) -> bool:
        return not self.boxes

    def _apply(self, plan: Mapping[str, str]) -> Step:
        arriving: list[tuple[Cell, str]] = []
        for robot, action in plan.items():
            cell = cell_of(robot)
            moved = _MOVE.fullmatch(action)
            assert moved is not None, "`step` has checked it"
            colour, kind, where = moved.groups()
            _take(self.boxes, cell, colour)
            if kind == "target":
                _take(self.targets, cell, colour)
            else:
                arriving.append((cell_of(where), colour))
        for cell, colour in arriving:
            self.boxes.setdefault(cell, Counter())[colour] += 1
        return Step()

    def _objects(self, cell: Cell) -> list[str]:
        boxes = [f"box_{colour}" for colour in sorted(self.boxes.get(cell, Counter()).elements())]
        return boxes + [f"target_{colour}" for colour in sorted(self.targets.get(cell, Counter()).elements())]

    def describe(self) -> str:
        lines = [f"The grid has {self.shape[0]} rows and {self.shape[1]} columns of squares."]
        lines += [
            f"square[{centre(cell)}]: {', '.join(self._objects(cell))}" for cell in self.cells if self._objects(cell)
        ]
        return "\n".join(lines)

    def describe_robot(self, robot: str) -> str:
        objects = self._objects(cell_of(robot))
        return f"{robot} stands in square[{centre(cell_of(robot))}], which has {', '.join(objects) or 'nothing'}."

    @classmethod
    def parse(cls, text: str) -> Self:
        grid = _GRID_LINE.search(text)
        if grid is None:
            raise StateError(f"no line 'The grid has R rows and C columns of squares.' in {text[:200]!r}")
        boxes: dict[Cell, list[str]] = {}
        targets: dict[Cell, list[str]] = {}
        for row, column, objects in _CELL_LINE.findall(text):
            for item in objects.split(", "):
                kind, _, colour = item.partition("_")
                where = {"box": boxes, "target": targets}.get(kind)
                if where is None or colour not in COLOURS:
                    raise StateError(f"'{item}' is neither a box nor a target of {', '.join(COLOURS)}")
                where.setdefault((int(float(row)), int(float(column))), []).append(colour)
        return cls((int(grid[1]), int(grid[2])), boxes, targets, step_limit=1)

    def state(self) -> dict[str, Any]:
        return {
            "world": self.name,
            "shape": list(self.shape),
            "boxes": _as_json(self.boxes),
            "targets": _as_json(self.targets),
            **self.limits,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        try:
            rows, columns = state["shape"]
            return cls(
                (int(rows), int(columns)),
                {cell_of(cell): list(found) for cell, found in state["boxes"].items()},
                {cell_of(cell): list(found) for cell, found in state["targets"].items()},
                **limits_of(state),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"no state of {cls.name}: {error!r}") from error


def _take(where: dict[Cell, Counter[str]], cell: Cell, colour: str) -> None:
    where[cell][colour] -= 1
    where[cell] = +where[cell]
    if not where[cell]:
        del where[cell]


def _as_json(where: Mapping[Cell, Counter[str]]) -> dict[str, list[str]]:
    return {centre(cell): sorted(found.elements()) for cell, found in sorted(where.items())}
