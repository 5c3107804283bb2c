"""Properties of the tasks at the table next to the published ones (RoCo, Table 1)."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from quartet_simulation.table_tasks import TASKS, TableTask
from quartet_simulation.table_tasks.task import Box

PUBLISHED = {
    "sweep": ("parallel", "yes", "medium"),
    "pack": ("parallel", "no", "medium"),
    "rope": ("parallel", "no", "high"),
    "cabinet": ("sequential", "yes", "high"),
    "sandwich": ("sequential", "yes", "low"),
    "sort": ("sequential", "no", "low"),
}
"""Decomposition, asymmetric observation, and overlap of the workspaces."""
SAMPLES = 60
"""Points along each axis with which boxes are compared."""


def properties(task: str) -> dict[str, Any]:
    """Return the row of a task."""
    world = TASKS[task](0)
    decomposition, asymmetric, overlap = PUBLISHED[task]
    return {
        "task": task,
        "decomposition (paper)": decomposition,
        "asymmetric observation": _asymmetry(world),
        "asymmetric observation (paper)": asymmetric,
        "reach shared by two or more robots": f"{shared_reach(world.reach.values()):.0%}",
        "overlap of workspaces (paper)": overlap,
    }


def _asymmetry(world: TableTask) -> str:
    """Return whether robots observe different things, or differ only in what each observes of itself."""
    texts = {robot: world.describe_robot(robot) for robot in world.robots}
    if len(set(texts.values())) == 1:
        return "no"
    others = {tuple(line for line in text.splitlines() if robot not in line) for robot, text in texts.items()}
    return "yes" if len(others) > 1 else "own gripper only"


def shared_reach(boxes: Iterable[Box]) -> float:
    """Return the share of the space in any of the boxes that is in at least two."""
    limits = np.array(list(boxes))
    axes = np.linspace(limits[..., 0].min(axis=0), limits[..., 1].max(axis=0), SAMPLES)
    inside = (limits[:, None, :, 0] <= axes) & (axes <= limits[:, None, :, 1])
    count = np.einsum("bi,bj,bk->ijk", *(inside[:, :, axis].astype(int) for axis in range(3)))
    return float((count > 1).sum() / (count > 0).sum())
