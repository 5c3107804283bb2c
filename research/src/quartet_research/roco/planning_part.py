"""Joint motion planning: this package next to plain RRT-Connect with the limits of RoCo's published code.

Two arms are those of the pack task, three those of the sort task. Start and goal of a problem are random poses of all
hands in their ranges; poses that cannot be reached together are drawn anew.
"""

import asyncio
import math
import time
from collections.abc import Iterator, Mapping, Sequence

import mujoco
import numpy as np

from quartet_research.harness.study import Case
from quartet_research.roco.part import Part, Trial
from quartet_simulation.table_arms import HandPose, MotionPlan, Scene, build_table, check_goals, plan_motion
from quartet_simulation.table_arms.collisions import Collisions
from quartet_simulation.table_arms.search import Space, connect
from quartet_simulation.table_tasks import PackGrocery, SortCubes
from quartet_teams import Model

PROBLEMS = {
    "planning2": (PackGrocery.arms, {"Alice": (-0.8, 1.1), "Bob": (-0.8, 1.1)}),
    "planning3": (SortCubes.arms, {"Alice": (-1.4, -0.1), "Bob": (-0.7, 0.7), "Chad": (0.2, 1.5)}),
}
"""Arms of each task, and the range of x of each hand [m]."""
ACROSS, HEIGHTS = (0.2, 0.8), (0.2, 0.5)
"""Ranges of y and z [m]."""
STEP, SAMPLES, SPREAD = 0.006, 800, 0.05
"""Limits of the published code: distance between collision checks [m], samples, and their share of a joint's range."""


class PlanningPart(Part):
    """Planning problems for two and for three arms, in which no model takes part."""

    name = "planning"
    tasks = tuple(PROBLEMS)
    most_trials = 100
    varies = ("planner",)
    notes = (
        "Planning: random start and goal of all hands. rrt_connect: plain RRT-Connect with the limits of RoCo's code: "
        f"{SAMPLES} samples within {SPREAD} of each joint's range around start and goal, a check every "
        f"{1000 * STEP:.0f} mm, no smoothing. No model takes part.",
    )

    async def play(self, case: Case, model: Model) -> Trial:
        """Plan one motion."""
        return await asyncio.to_thread(_plan, case.setting["task"], case.setting["planner"], case.instance["seed"])


def _plan(task: str, planner: str, seed: int) -> Trial:
    began = time.monotonic()
    arms, along = PROBLEMS[task]
    scene, rng = build_table(arms), np.random.default_rng(seed)
    start = check_goals(scene, _draw(scene, along, rng)).choices[0]
    scene.data.qpos[scene.qpos] = scene.data.ctrl[scene.servos] = start
    mujoco.mj_forward(scene.model, scene.data)
    goals = _draw(scene, along, rng)
    thread_began = time.thread_time()
    if planner == "quartet":
        plan = plan_motion(scene, goals, seed=seed)
        reason = "" if isinstance(plan, MotionPlan) else f"{plan.reason}: {plan.text}"
    else:
        reason = "" if _found_as_published(scene, goals, rng) else f"no_path: none in {SAMPLES} samples"
    spent = round(time.thread_time() - thread_began, 3)
    return Trial(not reason, reason=reason, wall_s=time.monotonic() - began, plan_cpu_s=(spent,))


def _draw(scene: Scene, along: Mapping[str, tuple[float, float]], rng: np.random.Generator) -> dict[str, HandPose]:
    """Return poses that all hands reach together."""
    while True:
        goals = {
            name: HandPose.down(
                (float(rng.uniform(*xs)), float(rng.uniform(*ACROSS)), float(rng.uniform(*HEIGHTS))),
                float(rng.uniform(-math.pi / 2, math.pi / 2)),
            )
            for name, xs in along.items()
        }
        if check_goals(scene, goals).ok:
            return goals


def _found_as_published(scene: Scene, goals: Mapping[str, HandPose], rng: np.random.Generator) -> bool:
    """Return whether plain RRT-Connect finds a path with the published limits."""
    start, end = scene.joints, check_goals(scene, goals).choices[0]
    columns = [arm.columns for arm in scene.arms.values()]
    space = Space(columns, scene.sweep, scene.lower, scene.upper, Collisions(scene).free, STEP)
    return connect(space, start, [end], _samples(scene, (start, end), rng)) is not None


def _samples(scene: Scene, ends: Sequence[np.ndarray], rng: np.random.Generator) -> Iterator[np.ndarray]:
    spread = SPREAD * (scene.upper - scene.lower)
    for number in range(SAMPLES):
        yield np.clip(ends[number % 2] + rng.uniform(-spread, spread), scene.lower, scene.upper)
