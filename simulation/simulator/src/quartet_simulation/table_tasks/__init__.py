"""Tasks of the RoCo paper at a table with several arms, one file each.

task = SortCubes(seed=1)                    a Scene of quartet_teams.roco
task.check(plan)                            complaints by stage
task.step(plan)                             executes it by physics; rewinds what cannot be executed
task.done                                   by ground truth
"""

from quartet_simulation.table_tasks.blocks import MoveBlocks
from quartet_simulation.table_tasks.cabinet import ArrangeCabinet
from quartet_simulation.table_tasks.pack import PackGrocery
from quartet_simulation.table_tasks.rope import MoveRope
from quartet_simulation.table_tasks.sandwich import MakeSandwich
from quartet_simulation.table_tasks.sandwich_variations import VARIATIONS
from quartet_simulation.table_tasks.sort_cubes import SortCubes
from quartet_simulation.table_tasks.sweep import SweepFloor
from quartet_simulation.table_tasks.task import Outcome, TableTask

TASKS: dict[str, type[TableTask]] = {
    task.name: task for task in (ArrangeCabinet, MakeSandwich, MoveRope, PackGrocery, SortCubes, SweepFloor)
}
"""Tasks by their names."""

__all__ = [
    "TASKS",
    "VARIATIONS",
    "ArrangeCabinet",
    "MakeSandwich",
    "MoveBlocks",
    "MoveRope",
    "Outcome",
    "PackGrocery",
    "SortCubes",
    "SweepFloor",
    "TableTask",
]
