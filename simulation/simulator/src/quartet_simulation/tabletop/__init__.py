"""A Franka Panda at a table with the nine tasks of the MALMM paper, in MuJoCo.

world = Tabletop.generate("stack-blocks", variation=3, seed=0)
world.execute_trajectory((0.3, 0.1, 0.9), 0.4)
world.succeeded                                   by ground truth
"""

from quartet_simulation.tabletop.errors import (
    CollisionError,
    NoPlacementError,
    TabletopError,
    UnknownObjectError,
    UnknownTaskError,
    UnreachableError,
)
from quartet_simulation.tabletop.placing import WORKSPACE
from quartet_simulation.tabletop.tasks import TASKS, TabletopTask
from quartet_simulation.tabletop.things import TABLE_Z
from quartet_simulation.tabletop.world import Tabletop

__all__ = [
    "TABLE_Z",
    "TASKS",
    "WORKSPACE",
    "CollisionError",
    "NoPlacementError",
    "Tabletop",
    "TabletopError",
    "TabletopTask",
    "UnknownObjectError",
    "UnknownTaskError",
    "UnreachableError",
]
