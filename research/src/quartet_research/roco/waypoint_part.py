"""Waypoints (RoCo, Figure 4): how much the paths that a team proposes help the motion planner."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from quartet_research.harness.study import Case
from quartet_research.roco.part import Part, Trial, trial_of
from quartet_research.roco.speakers import Speakers
from quartet_simulation.table_arms import MotionPlan
from quartet_simulation.table_tasks import TASKS, TableTask
from quartet_teams import Discussion, Model, NoPlanError
from quartet_teams.roco import Action, Past, Point, Roco

HOVER = 0.2
"""Height of the hard-coded waypoints above the start and the goal of a hand [m]."""
SET_UPS = 5
"""Maximum number of rounds in which the hands pick up the objects that are then put down."""


def _linear(action: Action, start: Point, goal: Point) -> tuple[Point, ...]:
    x, y, z = np.linspace(start, goal, len(action.path) + 2)[1:-1].T.tolist()
    return tuple(zip(x, y, z, strict=True))


def _hover(action: Action, start: Point, goal: Point) -> tuple[Point, ...]:
    ends = (goal,) if action.verb == "PICK" else (start, goal)
    return tuple((x, y, z + HOVER) for x, y, z in ends)


WAYS: Mapping[str, Callable[[Action, Point, Point], tuple[Point, ...]]] = {
    "proposed": lambda action, start, goal: action.path,
    "linear": _linear,
    "hover": _hover,
}
"""Functions of an action, the tip's position and its goal [m] that return the waypoints between them, by `PATHS`."""


class WaypointPart(Part):
    """Single picks and places along paths."""

    name = "waypoints"
    tasks = ("pack_pick", "pack_place", "rope_pick", "rope_put")
    varies = ("framework", "path")
    notes = (
        "Waypoints: a team agrees on one plan, whose paths are then kept (proposed), replaced by points on straight "
        f"lines (linear), or by points {HOVER} m above the goal, and for a place also above the start (hover). "
        "Success: the motion is found within the planner's limits; it is not executed. The paper prints no numbers; it "
        "found no gain on picks, and faster places.",
    )

    async def play(self, case: Case, model: Model) -> Trial:
        """Let a team agree on one plan, and plan its motion with the waypoints of the case."""
        began, setting, seed = time.monotonic(), case.setting, case.instance["seed"]
        task, _, verb = setting["task"].partition("_")
        world = await asyncio.to_thread(TASKS[task], seed)
        if verb != "pick":
            await _take(world)
        discussion, cpu_s = Discussion(model), tuple[float, ...]()
        try:
            plan = (await Roco(setting["framework"]).decide(world, Past(), discussion)).plan
        except NoPlanError as error:
            reason = f"no plan: {error}"[:500]
        else:
            way = WAYS[setting["path"]]
            plan = {name: replace(action, path=way(action, *world.ends(action))) for name, action in plan.items()}
            motion, spent = await asyncio.to_thread(world.plan_first, plan)
            reason = "" if isinstance(motion, MotionPlan) else f"{motion.reason}: {motion.text}"
            cpu_s = (round(spent, 3),)
        return trial_of(discussion, began, reason, agreed=bool(cpu_s), cpu_s=cpu_s)


async def _take(world: TableTask) -> None:
    """Let reference speakers fill the hands; the model under test does not take part."""
    past, speakers = Past(), Discussion(Speakers(0.0, seed=world.seed))
    for _ in range(SET_UPS):
        plan = (await Roco("central").decide(world, past, speakers)).plan
        outcome = await asyncio.to_thread(world.step, plan)
        if not outcome.failure:
            return
        past.add_failed(plan, outcome.failure)
    raise RuntimeError(f"reference speakers picked up nothing in {SET_UPS} rounds: {outcome.failure}")
