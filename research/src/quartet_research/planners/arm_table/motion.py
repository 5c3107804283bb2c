"""What one arm does in a step: to a box from above, grasp it, to a place from above, let go, and back."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from quartet_benchmarks.errors import MeasurementError
from quartet_research.planners.arm_table.layout import Layout, Point
from quartet_simulation.arm.kinematics import A2, D1, MOUNT
from quartet_simulation.arm.summit import ARM
from quartet_simulation.arm.trajectory import time_path
from quartet_simulation.table_arms import HandPose

HOVER = 0.20
"""Height of the finger tips over the table while the arm travels [m]."""
GRASP = 0.006
"""Height of the finger tips when they close round a box [m]."""
RELEASE = 0.07
"""Height of the finger tips when they let go over a bowl [m]."""
HOME_FORWARD, HOME_HEIGHT = 0.26, 0.42
ELBOW_SLACK = 0.05
"""Solutions of the inverse kinematics whose elbow is so little lower than the highest are as good [m]."""
OPEN, CLOSED = 0.0, 0.056
"""Travel of each finger [m]: closed presses a box by about 8 mm of the position controller."""
CLOSING_S = 0.5
SAMPLE_S = 0.02
LINE_POINTS = 6
UR5 = replace(ARM, weights=(4.0, 3.0, 3.0, 1.0, 1.0, 0.5))
"""Joints near the foot swing more of the arm: solutions that move them less are nearer."""
_TURNS = (0.0, math.pi / 2, math.pi, -math.pi / 2)

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Motion:
    """Positions of the six joints (N, 6) [rad] and of the fingers (N,) [m], every SAMPLE_S."""

    joints: np.ndarray
    fingers: np.ndarray


def _solve(tip: Vector, turns: Sequence[float], seed: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the turn of the fingers that is nearest to `seed`, and its joints; they point down at `tip`."""
    found: list[tuple[float, np.ndarray]] = []
    for turn in turns:
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = HandPose.down(tip, turn).rotation, (*tip[:2], tip[2] + UR5.tip_m)
        found += [(turn, UR5.nearest_turns(joints, seed)) for joints in UR5.inverse(MOUNT @ pose, seed)]
    if not found:
        raise MeasurementError(
            f"an arm does not reach {tip} [m] from its foot, with its fingers turned by {turns[0]:g} rad"
        )
    highest = max(_elbow_height(joints) for _, joints in found)
    upright = [option for option in found if _elbow_height(option[1]) > highest - ELBOW_SLACK]
    return min(upright, key=lambda option: UR5.cost(option[1], seed))


def _elbow_height(joints: np.ndarray) -> float:
    """Return the height of the elbow over the foot [m]."""
    return D1 + A2 * math.sin(float(joints[1]))


@functools.cache
def home(facing: float) -> tuple[float, ...]:
    """Return the joints of an arm that holds its hand above its side of the table.

    Args:
        facing: y direction in which its table lies, 1 or -1.
    """
    return tuple(_solve((0.0, facing * HOME_FORWARD, HOME_HEIGHT), (0.0,), np.zeros(6))[1])


def facing_of(layout: Layout, arm: str) -> float:
    """Return the y direction in which an arm's table lies."""
    return 1.0 if layout.arms[arm][1] == 0 else -1.0


def _line(point: Point, heights: tuple[float, float], turn: float, seed: np.ndarray) -> np.ndarray:
    """Return joints (LINE_POINTS, 6) along a vertical line of the finger tips."""
    path = [seed]
    for height in np.linspace(*heights, LINE_POINTS)[1:]:
        path.append(_solve((*point, float(height)), (turn,), path[-1])[1])
    return np.array(path)


@functools.lru_cache(maxsize=1024)  # asked for again by the check of every plan with this move, and by the step
def plan_motion(layout: Layout, arm: str, source: Point, yaw: float, target: Point, release: float) -> Motion:
    """Return the motion that takes a box from `source` to `target`, from and to the arm's home.

    Args:
        layout: the table.
        arm: its name.
        source: where the box is (x, y) [m].
        yaw: turn of the box [rad]; its sides are alike.
        target: where it goes (x, y) [m].
        release: height of the finger tips when they let go [m].

    Raises:
        MeasurementError: The arm does not reach one of the places.
    """
    foot = layout.arms[arm]
    start = np.array(home(facing_of(layout, arm)))
    here, there = (source[0] - foot[0], source[1] - foot[1]), (target[0] - foot[0], target[1] - foot[1])
    turn, above = _solve((*here, HOVER), [yaw + turn for turn in _TURNS], start)
    down = _line(here, (HOVER, GRASP), turn, above)
    turn, over = _solve((*there, HOVER), _TURNS, above)
    lower = _line(there, (HOVER, release), turn, over)
    pieces: list[tuple[np.ndarray, float, float]] = [
        (np.array([start, above]), OPEN, OPEN),
        (down, OPEN, OPEN),
        (down[-1:], OPEN, CLOSED),
        (down[::-1], CLOSED, CLOSED),
        (np.array([above, over]), CLOSED, CLOSED),
        (lower, CLOSED, CLOSED),
        (lower[-1:], CLOSED, OPEN),
        (lower[::-1], OPEN, OPEN),
        (np.array([over, start]), OPEN, OPEN),
    ]
    joints: list[np.ndarray] = []
    fingers: list[np.ndarray] = []
    for path, first, last in pieces:
        if len(path) == 1:
            count = round(CLOSING_S / SAMPLE_S)
            joints.append(np.repeat(path, count, axis=0))
        else:
            trajectory = time_path(UR5, path, scale=0.7)
            times = np.arange(0, trajectory.duration + SAMPLE_S, SAMPLE_S)
            count = len(times)
            joints.append(np.array([trajectory.at(float(t))[0] for t in times]))
        fingers.append(np.linspace(first, last, count))
    return Motion(np.concatenate(joints), np.concatenate(fingers))
