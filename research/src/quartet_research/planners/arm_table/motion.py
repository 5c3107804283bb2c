"""What one arm does in a step: to a box from above, grasp it, to a place from above, let go, and back."""

import functools
import math
from dataclasses import dataclass

import numpy as np

from quartet_benchmarks.errors import MeasurementError
from quartet_research.planners.arm_table.layout import Layout, Point
from quartet_simulation.arm.kinematics import D1, MOUNT, inverse
from quartet_simulation.arm.summit import ARM
from quartet_simulation.arm.trajectory import time_path
from quartet_simulation.robot import dimensions as dim

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
_WEIGHTS = np.array([4.0, 3.0, 3.0, 1.0, 1.0, 0.5])
"""Joints near the foot swing more of the arm: solutions that move them less are nearer."""
_TURNS = (0.0, math.pi / 2, math.pi, -math.pi / 2)


@dataclass(frozen=True)
class Motion:
    """Positions of the six joints (N, 6) [rad] and of the fingers (N,) [m], every SAMPLE_S."""

    joints: np.ndarray
    fingers: np.ndarray


def _pose(tip: tuple[float, float, float], turn: float) -> np.ndarray:
    """Flange in the arm's own frame, pointing down with the finger tips at `tip`."""
    c, s = math.cos(turn), math.sin(turn)
    pose = np.eye(4)
    pose[:3, :3] = [[c, s, 0], [s, -c, 0], [0, 0, -1]]
    pose[:3, 3] = (tip[0], tip[1], tip[2] + dim.FINGER_OFFSET)
    return MOUNT @ pose


def _solve(tip: tuple[float, float, float], turn: float, seed: np.ndarray) -> np.ndarray:
    """Return the joints with the elbow up that are nearest to `seed`."""
    found = [ARM.nearest_turns(q, seed) for q in inverse(_pose(tip, turn))]
    if not found:
        raise MeasurementError(
            f"an arm does not reach {tip} [m] from its foot, with its fingers turned by {turn:g} rad"
        )
    highest = max(_elbow_height(q) for q in found)
    upright = [q for q in found if _elbow_height(q) > highest - ELBOW_SLACK]
    return min(upright, key=lambda q: _distance(q, seed))


def _nearest(tip: tuple[float, float, float], yaw: float, seed: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the turn of the fingers along the sides of a box that is nearest to `seed`, and its joints."""
    options = [(yaw + turn, _solve(tip, yaw + turn, seed)) for turn in _TURNS]
    return min(options, key=lambda option: _distance(option[1], seed))


def _distance(joints: np.ndarray, other: np.ndarray) -> float:
    return float((_WEIGHTS * np.abs(joints - other)).sum())


def _elbow_height(joints: np.ndarray) -> float:
    """Return the height of the elbow over the foot [m]."""
    return D1 - dim.UR5_A2 * math.sin(float(joints[1]))


@functools.cache
def home(facing: float) -> tuple[float, ...]:
    """Return the joints of an arm that holds its hand above its side of the table.

    Args:
        facing: y direction in which its table lies, 1 or -1.
    """
    return tuple(_solve((0.0, facing * HOME_FORWARD, HOME_HEIGHT), 0.0, np.zeros(6)))


def facing_of(layout: Layout, arm: str) -> float:
    """Return the y direction in which an arm's table lies."""
    return 1.0 if layout.arms[arm][1] == 0 else -1.0


def _line(
    start: tuple[float, float, float], end: tuple[float, float, float], turn: float, seed: np.ndarray
) -> np.ndarray:
    """Return joints (LINE_POINTS, 6) along a straight line of the finger tips."""
    path = [seed]
    for share in np.linspace(0, 1, LINE_POINTS)[1:]:
        x, y, z = (a + share * (b - a) for a, b in zip(start, end, strict=True))
        path.append(_solve((x, y, z), turn, path[-1]))
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
    (sx, sy), (tx, ty) = (source[0] - foot[0], source[1] - foot[1]), (target[0] - foot[0], target[1] - foot[1])
    turn, above = _nearest((sx, sy, HOVER), yaw, start)
    down = _line((sx, sy, HOVER), (sx, sy, GRASP), turn, above)
    turn, over = _nearest((tx, ty, HOVER), 0.0, above)
    lower = _line((tx, ty, HOVER), (tx, ty, release), turn, over)
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
            trajectory = time_path(ARM, path, scale=0.7)
            times = np.arange(0, trajectory.duration + SAMPLE_S, SAMPLE_S)
            count = len(times)
            joints.append(np.array([trajectory.at(float(t))[0] for t in times]))
        fingers.append(np.linspace(first, last, count))
    return Motion(np.concatenate(joints), np.concatenate(fingers))
