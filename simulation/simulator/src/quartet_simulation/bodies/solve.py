"""Inverse kinematics of many grasp points at once, with collision checks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

from quartet_simulation.bodies.contacts import Contacts
from quartet_simulation.bodies.workspace import Samples
from quartet_simulation.described.chain import Chain

TOLERANCE = 1e-4
"""Of the grasp point [m]."""
LEAN = 0.02
"""A hand that leans so little points straight down [rad]; many wrists end just before it."""
ITERATIONS = 30
ROUNDS = 6
"""Starts of the search for each point."""
NEAREST = 12
"""A search starts from one of so many known poses whose grasp points are nearest."""
DOWN = np.array([0.0, 0.0, -1.0])


class Solver:
    """Finds free poses of an arm for grasp points in the base frame [m]; equal seeds give equal results."""

    def __init__(self, chain: Chain, contacts: Contacts, samples: Samples, seed: int) -> None:
        self._chain, self._contacts = chain, contacts
        self._samples, self._rng = samples, np.random.default_rng(seed)

    def solve(self, points: np.ndarray, *, from_above: bool, rounds: int = ROUNDS) -> np.ndarray:
        """Return joints (N, J) for points (N, 3), with a hand straight down or at any angle; NaN: none were found."""
        solved = np.full((len(points), len(self._chain.lower)), np.nan)
        known, joints = self._samples.points, self._samples.joints
        for number in range(rounds):
            left = np.flatnonzero(np.isnan(solved[:, 0]))
            if not len(left):
                break
            count = min(NEAREST, len(known))
            near = cKDTree(known).query(points[left], count)[1].reshape(len(left), count)
            chosen = self._rng.integers(0, count, len(left)) if number else np.zeros(len(left), dtype=int)
            starts = joints[near[np.arange(len(left)), chosen]]
            for rows, found in self._descended(points[left], starts, from_above):
                free = self._contacts.free(found)
                solved[left[rows[free]]] = found[free]
                # Poses that are found are good places to search from for their neighbours.
                known = np.vstack([known, points[left[rows[free]]]])
                joints = np.vstack([joints, found[free]])
        return solved

    def _descended(
        self, points: np.ndarray, joints: np.ndarray, from_above: bool
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows of points and the joints that reach them, as they are found."""
        rows = np.arange(len(points))
        for _ in range(ITERATIONS):
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
            rows, joints = rows[~done], joints[~done]
            joints = self._chain.improved(joints, jacobian[~done], error[~done])


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
