"""Motion planning with OMPL under MoveIt's planner names."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from ompl import base as ob
from ompl import geometric as og
from ompl import util as ou

from quartet_simulation.arm.model import ArmModel
from quartet_simulation.errors import UnknownNameError

PLANNERS = {
    "RRTConnectkConfigDefault": "RRTConnect",
    "RRTConnect": "RRTConnect",
    "RRT": "RRT",
    "RRTstar": "RRTstar",
    "PRM": "PRM",
    "PRMstar": "PRMstar",
    "KPIECE": "KPIECE1",
    "BKPIECE": "BKPIECE1",
    "LBKPIECE": "LBKPIECE1",
    "BITstar": "BITstar",
}
DEFAULT_PLANNER = "RRTConnect"
STEP = 0.02
"""Largest joint step between two collision checks of a motion [rad]."""
FINEST_STEP = STEP / 4
"""The same after paths that touched something between two checks [rad]."""
CORNER = 0.16
"""How far from a corner a path is rounded [rad]."""
ROOM = 1.3
"""The search may leave the box around start and goal by this much in every joint [rad]."""
SLICE = 0.05
"""Planning runs in slices of this length, so that other threads get the interpreter [s]."""


def planner_name(planner_id: str) -> str:
    """Return OMPL's class for a MoveIt planner id; "" and "RRTConnectkConfigDefault" mean the default.

    Raises:
        UnknownNameError: there is no such planner.
    """
    plain = planner_id.removesuffix("kConfigDefault") or DEFAULT_PLANNER
    if plain not in PLANNERS:
        raise UnknownNameError("planner", planner_id, PLANNERS)
    return PLANNERS[plain]


def straight(start: np.ndarray, goal: np.ndarray, step: float = STEP) -> np.ndarray:
    """Points (N, J) from start to goal, no joint moving more than `step` [rad] between two."""
    count = max(2, int(np.ceil(float(np.abs(goal - start).max()) / step)) + 1)
    return np.linspace(start, goal, count)


def motion_is_free(path: np.ndarray, free: Callable[[np.ndarray], bool], step: float = STEP) -> bool:
    """Is the arm free on the straight lines between the points of `path`, checked every `step` [rad]?"""
    for a, b in pairwise(path):
        points = straight(a, b, step)
        # The middle first: a blocked motion is found sooner.
        order = np.argsort(np.abs(np.arange(len(points)) - len(points) // 2))
        if not all(free(points[i]) for i in order):
            return False
    return True


def _joints(state: Any, count: int) -> np.ndarray:
    """Of a state of OMPL, whose types know nothing of its values."""
    return np.array([state[i] for i in range(count)])


def search(
    arm: ArmModel,
    start: np.ndarray,
    goal: np.ndarray,
    free: Callable[[np.ndarray], bool],
    planner_id: str,
    timeout: float,
) -> Iterator[np.ndarray]:
    """Yield collision-free paths (N, J) in joint space until `timeout` [s of wall time] is spent.

    To ask for another one is to say that the last one touches something between two checks. What the named planner
    found is cut short, then cut short with finer checks, and then taken as it is, even where the time is spent by then;
    only after those it searches anew.
    """
    deadline, step = time.monotonic() + timeout, STEP
    ou.setLogLevel(ou.LOG_ERROR)
    count = len(arm.joints)
    space = ob.RealVectorStateSpace(count)
    bounds = ob.RealVectorBounds(count)
    for i in range(count):
        bounds.setLow(i, max(arm.lower[i], min(start[i], goal[i]) - ROOM))
        bounds.setHigh(i, min(arm.upper[i], max(start[i], goal[i]) + ROOM))
    space.setBounds(bounds)
    setup = og.SimpleSetup(space)
    setup.setStateValidityChecker(lambda state: bool(free(_joints(state, count))))
    information = setup.getSpaceInformation()
    setup.setPlanner(getattr(og, planner_name(planner_id))(information))
    first: Any = space.allocState()
    last: Any = space.allocState()
    for i in range(count):
        first[i], last[i] = float(start[i]), float(goal[i])
    setup.setStartAndGoalStates(first, last, 1e-4)
    while time.monotonic() < deadline:
        information.setStateValidityCheckingResolution(step / space.getMaximumExtent() * 2)
        setup.solve(SLICE)
        if setup.haveExactSolutionPath():
            path = setup.getSolutionPath()
            points = np.array([_joints(s, count) for s in path.getStates()])
            # The planner's own checks are coarser than what a path is held to.
            if motion_is_free(points, free, step):
                # Once where they are the same: its short cuts follow from the path.
                for checks in dict.fromkeys((step, FINEST_STEP)):
                    yield shorten(points, free, checks)
                yield shorten(points, free, FINEST_STEP, rounds=0)
            step = max(step / 2, FINEST_STEP)
            setup.clear()
        time.sleep(0.001)


def shorten(path: np.ndarray, free: Callable[[np.ndarray], bool], step: float = STEP, rounds: int = 60) -> np.ndarray:
    """Random shortcuts, seeded by the path itself so that the same path gives the same result."""
    rng = np.random.default_rng(abs(int(path.sum() * 1e6)) % 2**32)
    dense = np.vstack([straight(a, b, step)[:-1] for a, b in pairwise(path)] + [path[-1:]])
    for _ in range(rounds):
        if len(dense) < 4:
            break
        i, j = sorted(rng.choice(len(dense), 2, replace=False))
        if j - i < 2 or not motion_is_free(dense[[i, j]], free, step):
            continue
        dense = np.vstack([dense[:i], straight(dense[i], dense[j], step), dense[j + 1 :]])
    return round_corners(dense, free, round(CORNER / step))


def round_corners(dense: np.ndarray, free: Callable[[np.ndarray], bool], window: int) -> np.ndarray:
    """Average `window` neighbours on either side, so that the arm does not jerk at corners.

    The path is left as it is where that would touch something.
    """
    if len(dense) < 2 * window + 2:
        return dense
    kernel = np.ones(2 * window + 1) / (2 * window + 1)
    # Mirrored at its ends, so that these stay where they are.
    padded = np.pad(dense, ((window, window), (0, 0)), mode="reflect", reflect_type="odd")
    smooth = np.column_stack([np.convolve(padded[:, j], kernel, mode="valid") for j in range(dense.shape[1])])
    return smooth if all(free(q) for q in smooth) else dense
