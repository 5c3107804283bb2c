"""Inverse kinematics of many grasp points at once, with collision checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.spatial import KDTree

from quartet_simulation.bodies.workspace import Samples

TOLERANCE = 1e-4
"""Of the grasp point [m]."""
LEAN = 0.02
"""A hand that leans so little points straight down [rad]; many wrists end just before it."""
TURNS, ITERATIONS = 4, 8
"""A search has so many turns of iterations, and ends after one that has not halved its error."""
ROUNDS = 16
"""Starts of the search for each point that is near others with a pose."""
FEW_ROUNDS, NEAR_M = 4, 0.08
"""After so many starts a point that is farther than this from all with a pose is given up [m]."""
NEAREST, MOST_NEAREST = 12, 600
"""A search starts from one of so many known poses whose grasp points are nearest, from more in each round."""
TURN_M = 0.15
"""How much the direction of a hand counts, where it matters, for how near a known pose is [m]."""
SPREAD = 0.2
"""Standard deviation from a known pose of all searches but the first [rad, m]."""
DOWN = np.array([0.0, 0.0, -1.0])


class Solver:
    """Finds free poses of an arm for grasp points in the base frame [m]; equal seeds give equal results."""

    def __init__(self, samples: Samples, seed: int) -> None:
        self._chain, self._contacts = samples.contacts.arm.chain, samples.contacts
        self._rng = np.random.default_rng(seed)
        self._joints = samples.joints
        """Known free poses; those that are found are good places to search from for their neighbours."""
        self._tips = self._chain.poses(samples.joints)[0][:, :3, 2:]
        """Directions of the hand and grasp points in the known poses (K, 3, 2)."""

    def solve(
        self,
        points: np.ndarray,
        *,
        from_above: bool,
        rounds: int = ROUNDS,
        also_free: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return joints (N, J) for points (N, 3), with a hand straight down or at any angle; NaN: none were found.

        `also_free` returns for rows of points (M,) and joints (M, J) which of these are free of other obstacles (M,).
        """
        solved = np.full((len(points), len(self._chain.lower)), np.nan)
        for number in range(rounds):
            without = np.isnan(solved[:, 0])
            left = np.flatnonzero(without)
            if number >= FEW_ROUNDS and len(left) and len(left) < len(points):
                left = left[KDTree(points[~without]).query(points[left])[0] <= NEAR_M]
            if not len(left):
                break
            starts = self._starts(points[left], from_above, number)
            for rows, found in self._descended(points[left], starts, from_above):
                free = self._contacts.free(found)
                if also_free is not None and free.any():
                    free[free] = also_free(left[rows[free]], found[free])
                solved[left[rows[free]]] = found[free]
            new = solved[left][~np.isnan(solved[left, 0])]
            self._joints = np.vstack([self._joints, new])
            self._tips = np.vstack([self._tips, self._chain.poses(new)[0][:, :3, 2:]])
        return solved

    def _starts(self, points: np.ndarray, from_above: bool, number: int) -> np.ndarray:
        """Return joints (N, J) to search from in a round, drawn from the known poses that are nearest."""
        have, wanted = self._tips[:, :, 1], points
        if from_above:
            have = np.hstack([have, TURN_M * self._tips[:, :, 0]])
            wanted = np.hstack([points, np.tile(TURN_M * DOWN, (len(points), 1))])
        count = min(NEAREST * (1 + number) ** 2, MOST_NEAREST, len(have))
        near = KDTree(have).query(wanted, count)[1].reshape(len(points), count)
        if number == 0:
            return self._joints[near[:, 0]]
        chosen = near[np.arange(len(points)), self._rng.integers(0, count, len(points))]
        starts = self._joints[chosen] + self._rng.normal(0.0, SPREAD, (len(points), self._joints.shape[1]))
        return np.clip(starts, self._chain.lower, self._chain.upper)

    def _descended(
        self, points: np.ndarray, joints: np.ndarray, from_above: bool
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows of points and the joints that reach them, as they are found."""
        rows, before = np.arange(len(points)), np.full(len(points), np.inf)
        for number in range(TURNS * ITERATIONS):
            poses, jacobian = self._chain.poses(joints)
            error = points[rows] - poses[:, :3, 3]
            if from_above:
                jacobian, error = _with_axis(poses, jacobian, error)
            else:
                jacobian = jacobian[:, :3]
            done = np.abs(error[:, :3]).max(axis=1) < TOLERANCE
            done &= np.linalg.norm(error[:, 3:], axis=1) < LEAN
            if done.any():
                yield rows[done], joints[done]
            if done.all():
                return
            left, size = ~done, np.abs(error).max(axis=1)
            if number % ITERATIONS == 0:
                left &= size < before / 2
                before = size
            rows, before = rows[left], before[left]
            joints = self._chain.improved(joints[left], jacobian[left], error[left])


def _with_axis(poses: np.ndarray, jacobian: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Jacobians (N, 6, J) and errors (N, 6) of the grasp point and the hand's axis, whose turn is free."""
    axis = poses[:, :3, 2]
    turn = np.cross(axis, DOWN)
    # Upside down the product vanishes: any turn is as good, and the longest comes first.
    up = axis @ DOWN < 0
    turn[up] = turn[up] / np.maximum(np.linalg.norm(turn[up], axis=1, keepdims=True), 1e-6)
    own = jacobian.copy()
    own[:, 3:] -= axis[:, :, None] * (axis[:, None, :] @ own[:, 3:])
    return own, np.hstack([error, turn])
