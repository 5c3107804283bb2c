"""`python -m quartet_simulation.speed`: how many times faster than real time the world runs without rendering.

One third of the time the robot stands, one third it drives, one third its arm moves. The time is process time, so
that other programs on the machine do not count.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path

from quartet_simulation.errors import SimulationError
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.simulation import Simulation
from quartet_simulation.worlds import WORLDS

STRETCHED = (-0.0109, -0.6348, -2.0271, -1.3523, 1.5778, -0.0084)


def measure(world: str, seed: int, seconds: float) -> dict[str, float]:
    """Real-time factors by activity, and the memory of this process [MB]."""
    sim = Simulation(world, seed)
    scene = sim.snapshot()
    there = scene.plan_joints(STRETCHED).trajectory
    back = scene.plan_joints(dim.LOOK_FORWARD, start=STRETCHED).trajectory
    assert there is not None
    assert back is not None
    areas = [area.entry for area in sim.world.areas]
    result: dict[str, float] = {}
    spent_total = 0.0
    for activity in ("standing", "driving", "arm"):
        began, start, count = time.process_time(), sim.time, 0
        goal = None
        while sim.time - start < seconds:
            if activity == "driving" and (goal is None or goal.done):
                goal = sim.navigate_to_pose(*areas[count % len(areas)][:2], 1.0 * count)
                count += 1
            elif activity == "arm" and (goal is None or goal.done):
                path = there if count % 2 == 0 else back
                points = list(zip(path.times.tolist(), path.positions.tolist(), strict=True))
                goal = sim.execute_trajectory(list(path.joint_names), points)
                count += 1
            sim.step(0.02)
        if goal is not None:
            sim.halt()
        spent = time.process_time() - began
        spent_total += spent
        result[activity] = (sim.time - start) / spent
    result["overall"] = 3 * seconds / spent_total
    result["rss_mb"] = _peak_memory_mb()
    return result


def _peak_memory_mb() -> float:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        # Counts the parent's memory before exec as well, so it is only the second choice.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def main() -> int:
    """Measure and print; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m quartet_simulation.speed", description=__doc__)
    parser.add_argument("--world", default="home", help=f"one of: {', '.join(sorted(WORLDS))}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=30.0, help="world time per activity")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    try:
        figures = measure(arguments.world, arguments.seed, arguments.seconds)
    except SimulationError as error:
        print(error, file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps(figures))
        return 0
    for name in ("standing", "driving", "arm", "overall"):
        print(f"{name:10s} {figures[name]:6.1f} x real time")
    print(f"{'memory':10s} {figures['rss_mb']:6.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
