"""Poses of base and arm in which a hand is at a point of a storey."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from quartet_simulation.bodies.body import Body
from quartet_simulation.bodies.contacts import Contacts
from quartet_simulation.bodies.reach import BEYOND_M
from quartet_simulation.bodies.solve import Solver
from quartet_simulation.bodies.workspace import Samples, sample
from quartet_simulation.buildings.building import Position, Stand
from quartet_simulation.buildings.floor import Floor

ADJUST_M, SPACING_M = 0.6, 0.15
"""A robot moves its base by up to so much to reach a point, and tries poses so far apart [m]."""
AT_ONCE, MOST_POSES = 24, 96
"""Base poses whose hand poses are searched for together, and base poses in all."""
LEVEL_M = 0.05
"""Sampled positions of the hand that differ in height by at most this count as one height [m]."""
ROUNDS = 12
"""Starts of the search for each base pose."""


@dataclass(frozen=True)
class Reach:
    """A pose of the base, and joints (J,) of the arm that bring the hand to a point; None: no such pose was found.

    `tried` base poses stand free and near enough. `farthest` is the greatest horizontal reach of the hand at the height
    of the point, 0 if it does not get to that height; `heights` are its lowest and highest point above the floor [m].
    """

    pose: tuple[Stand, np.ndarray] | None
    tried: int
    farthest: float
    heights: tuple[float, float]


@lru_cache(maxsize=32)
def samples_of(body: Body) -> Samples:
    """Return free poses of the arm of a body; computed once a process. Raises SimulationError if there are none."""
    assert body.arm is not None
    return sample(Contacts(body, body.arm), 0)


# Episodes of one layout make the same reaches again.
@lru_cache(maxsize=512)
def reach(floor: Floor, body: Body, at: Stand, point: Position, seed: int) -> Reach:
    """Return a reach to a point of a storey, its base as near to `at` as possible; equal seeds give equal results.

    The arm at the point meets neither itself, the floor nor furniture. Other things and robots do not count, nor does
    how the arm gets there.
    """
    samples = samples_of(body)
    away, heights = np.hypot(samples.points[:, 0], samples.points[:, 1]), samples.points[:, 2] + at.height
    level = float(away[np.abs(heights - point[2]) <= LEVEL_M].max(initial=0.0))
    span = float(heights.min()), float(heights.max())
    stands = list(_stands(floor, at, point, float(away.max()) + BEYOND_M))
    # A new one each time, since what it has found before changes what it finds.
    solver, tried = Solver(samples, seed), 0
    for first in range(0, len(stands), AT_ONCE):
        group = stands[first : first + AT_ONCE]
        tried += len(group)

        def clear(rows: np.ndarray, joints: np.ndarray, group: list[Stand] = group) -> np.ndarray:
            free = [floor.surroundings.free(group[row], one) for row, one in zip(rows, joints, strict=True)]
            return np.array(free, dtype=bool)

        points = np.array([_seen_from(stand, point) for stand in group])
        joints = solver.solve(points, from_above=False, rounds=ROUNDS, also_free=clear)
        for stand, one in zip(group, joints, strict=True):
            if not np.isnan(one[0]):
                return Reach((stand, one), tried, level, span)
    return Reach(None, tried, level, span)


def _stands(floor: Floor, at: Stand, point: Position, farthest: float) -> Iterator[Stand]:
    """Yield base poses that stand free and turn the arm to a point, nearest to `at` first."""
    chosen, count = np.array([[at.x, at.y]]), 0
    around = floor.points([floor.part_at(at.x, at.y)], at.x, at.y)
    for x, y in around[np.hypot(around[:, 0] - at.x, around[:, 1] - at.y) <= ADJUST_M]:
        apart = np.hypot(chosen[:, 0] - x, chosen[:, 1] - y).min() >= SPACING_M
        if apart and floor.straight((at.x, at.y), (float(x), float(y))):
            chosen = np.vstack([chosen, [x, y]])
    for x, y in chosen[np.hypot(chosen[:, 0] - point[0], chosen[:, 1] - point[1]) <= farthest]:
        for stand in floor.facing(float(x), float(y), point[:2]):
            if count < MOST_POSES and floor.surroundings.free(stand, arm=False):
                count += 1
                yield stand


def _seen_from(stand: Stand, point: Position) -> Position:
    """Return a point in the base frame of a robot that stands there."""
    dx, dy, c, s = point[0] - stand.x, point[1] - stand.y, math.cos(stand.yaw), math.sin(stand.yaw)
    return c * dx + s * dy, c * dy - s * dx, point[2] - stand.height
