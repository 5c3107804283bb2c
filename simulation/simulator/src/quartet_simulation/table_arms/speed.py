"""`python -m quartet_simulation.table_arms.speed`: processor time of joint plans for two and for three arms.

Two arms are those of RoCo's pack task, three those of its sort task, on rails. Each problem is a random pose of every
hand in its reach box, from where the last plan ended; poses that cannot be reached together are drawn anew. The second
row of each is plain RRT-Connect with the limits that the paper's code has: 800 samples, which are around start and goal
by 0.05 of each joint's range, checks every 6 mm, no smoothing.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence

import mujoco
import numpy as np

from quartet_simulation.table_arms.build import build_table
from quartet_simulation.table_arms.collisions import Collisions
from quartet_simulation.table_arms.goals import check_goals
from quartet_simulation.table_arms.kinds import ArmAt
from quartet_simulation.table_arms.plan import MotionPlan, plan_motion
from quartet_simulation.table_arms.poses import HandPose
from quartet_simulation.table_arms.scene import Scene
from quartet_simulation.table_arms.search import Space, connect

FAR, NEAR = -math.pi / 2, math.pi / 2
TABLES = {
    2: (
        (ArmAt("Alice", "ur5", (-0.2, -0.07, 0.15), NEAR, (-1.3, 1.3)), (-0.8, 1.1)),
        (ArmAt("Bob", "panda", (-0.2, 1.05, 0.1), FAR, (-1.5, 1.3)), (-0.8, 1.1)),
    ),
    3: (
        (ArmAt("Alice", "ur5", (-0.7, 1.05, 0.1), FAR, (-1.3, 1.3)), (-1.4, -0.1)),
        (ArmAt("Bob", "panda", (0.0, -0.05, 0.1), NEAR, (-1.5, 1.3)), (-0.7, 0.7)),
        (ArmAt("Chad", "ur5", (0.9, 1.05, 0.1), FAR, (-0.5, 1.3), "suction"), (0.2, 1.5)),
    ),
}
"""Arms and the x between which their hands go [m]."""
ACROSS, HEIGHTS = (0.2, 0.8), (0.2, 0.5)
PUBLISHED_STEP, PUBLISHED_SAMPLES, PUBLISHED_SPREAD = 0.006, 800, 0.05


def measure(arms: int, count: int, seed: int) -> list[dict[str, float]]:
    """Plan `count` problems in both ways; return the rows of the table."""
    scene = build_table([arm for arm, _ in TABLES[arms]])
    rng = np.random.default_rng(seed)
    spent: tuple[list[float], list[float]] = ([], [])
    failures = [0, 0]
    for number in range(count):
        goals = _draw(scene, arms, rng)
        began = time.process_time()
        plan = plan_motion(scene, goals, seed=number)
        spent[0].append(time.process_time() - began)
        began = time.process_time()
        failures[1] += _published(scene, goals, number) is None
        spent[1].append(time.process_time() - began)
        if isinstance(plan, MotionPlan):
            scene.data.qpos[scene.qpos] = scene.data.ctrl[scene.servos] = plan.trajectory.positions[-1]
            mujoco.mj_forward(scene.model, scene.data)
        else:
            failures[0] += 1
    return [
        {
            "arms": arms,
            "published_limits": way,
            "n": count,
            "cpu_s_p50": float(np.percentile(spent[way], 50)),
            "cpu_s_p95": float(np.percentile(spent[way], 95)),
            "failures": failures[way],
        }
        for way in (0, 1)
    ]


def _draw(scene: Scene, arms: int, rng: np.random.Generator) -> dict[str, HandPose]:
    while True:
        goals = {
            arm.name: HandPose.down(
                (float(rng.uniform(*along)), float(rng.uniform(*ACROSS)), float(rng.uniform(*HEIGHTS))),
                float(rng.uniform(-math.pi / 2, math.pi / 2)),
            )
            for arm, along in TABLES[arms]
        }
        if check_goals(scene, goals).ok:
            return goals


def _published(scene: Scene, goals: dict[str, HandPose], seed: int) -> np.ndarray | None:
    """Return a path of plain RRT-Connect with the published limits."""
    found = check_goals(scene, goals)
    start, free = scene.joints, Collisions(scene).free
    columns = [arm.columns for arm in scene.arms.values()]
    space = Space(columns, scene.sweep, scene.lower, scene.upper, free, PUBLISHED_STEP)
    return connect(space, start, found.choices[:1], _around(scene, (start, found.choices[0]), seed))


def _around(scene: Scene, ends: Sequence[np.ndarray], seed: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    spread = PUBLISHED_SPREAD * (scene.upper - scene.lower)
    for number in range(PUBLISHED_SAMPLES):
        yield np.clip(ends[number % 2] + rng.uniform(-spread, spread), scene.lower, scene.upper)


def main() -> int:
    """Measure and print; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m quartet_simulation.table_arms.speed", description=__doc__)
    parser.add_argument("--problems", type=int, default=100, help="of each number of arms")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    arguments = parser.parse_args()
    if arguments.problems < 1:
        parser.error(f"--problems {arguments.problems} must be at least 1")
    rows = [row for arms in TABLES for row in measure(arms, arguments.problems, arguments.seed)]
    if arguments.json:
        print(json.dumps(rows))
        return 0
    print(f"{'arms':>4s} {'planner':24s} {'n':>4s} {'CPU p50 [s]':>12s} {'CPU p95 [s]':>12s} {'failures':>9s}")
    for row in rows:
        name = "RRT-Connect, published" if row["published_limits"] else "this package"
        times = f"{row['cpu_s_p50']:12.2f} {row['cpu_s_p95']:12.2f}"
        print(f"{row['arms']:4.0f} {name:24s} {row['n']:4.0f} {times} {row['failures']:9.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
