"""Horizontal reach of an arm by height: what it claims for grasps from above and for any angle of the hand."""

from __future__ import annotations

import numpy as np

from quartet_simulation.bodies.solve import Solver
from quartet_simulation.bodies.workspace import Samples
from quartet_site.resume import Band, Reach

BAND_M = 0.05
"""Height of a band."""
STEP_M = 0.02
"""Distance of points in a row; rows are at both ends of a band and in its middle."""
BEYOND_M = 0.08
"""Points are tried so far beyond the sampled workspace."""
LOWEST_M = 0.01
"""Nothing is claimed below: the finger tips would touch the floor."""
PURITY = 0.97
"""Least share of the points of a claim that the arm reaches."""
SPANS, LEAST_SPAN_M = 2, 0.06
"""Most stretches of a claim, and the length of the shortest."""


def in_plane(distances: np.ndarray, heights: np.ndarray, bearing: float) -> np.ndarray:
    """Return points (N, 3) in the base frame [m] at a bearing [degrees]."""
    turn = np.radians(bearing)
    return np.column_stack([distances * np.cos(turn), distances * np.sin(turn), heights])


def reach_of(samples: Samples, seed: int) -> Reach:
    """Return what an arm claims to reach over the floor; equal seeds give equal claims."""
    solver, bearing = Solver(samples, seed), samples.contacts.arm.bearing
    # The extremes of a grid of joint positions are not those of the arm.
    farthest = float(np.hypot(samples.points[:, 0], samples.points[:, 1]).max()) + BEYOND_M
    bands = int(np.ceil((max(float(samples.points[:, 2].max()), 0.0) + BEYOND_M) / BAND_M))
    distances = np.arange(STEP_M / 2, farthest, STEP_M)
    heights = np.maximum(np.arange(2 * bands + 1) * BAND_M / 2, LOWEST_M)
    grid = in_plane(np.tile(distances, len(heights)), np.repeat(heights, len(distances)), bearing)
    above = ~np.isnan(solver.solve(grid, from_above=True)[:, 0])
    every = above.copy()
    every[~above] = ~np.isnan(solver.solve(grid[~above], from_above=False)[:, 0])
    rows = [one.reshape(len(heights), -1) for one in (above, every)]
    found = []
    for number in range(bands):
        spans = [_spans(one[2 * number : 2 * number + 3], distances) for one in rows]
        if any(spans):
            low, high = round(max(number * BAND_M, LOWEST_M), 3), round((number + 1) * BAND_M, 3)
            found.append(Band(height=(low, high), from_above=spans[0], any_angle=spans[1]))
    return Reach(bearing=bearing, bands=found)


def _spans(reached: np.ndarray, distances: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Return up to SPANS stretches of distances in which nearly all points (3, D) are reached, and the most in all.

    Rows at the ends of the band stand for half as much of it as the one in its middle.
    """
    sums = np.concatenate([[0.0], np.cumsum(np.array([0.25, 0.5, 0.25]) @ reached)])
    first, last = np.triu_indices(len(distances))
    inside, count = sums[last + 1] - sums[first], last + 1 - first
    good = (inside >= PURITY * count) & (distances[last] - distances[first] >= LEAST_SPAN_M)
    found: list[tuple[float, float]] = []
    while good.any() and len(found) < SPANS:
        best = int(np.argmax(np.where(good, inside, -1.0)))
        found.append((round(float(distances[first[best]]), 3), round(float(distances[last[best]]), 3)))
        good &= (last < first[best]) | (first > last[best])
    return tuple(sorted(found))
