"""The workspace of an arm by sampling its forward kinematics, as EMOS did, without poses that meet something."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quartet_simulation.bodies.contacts import Contacts
from quartet_simulation.errors import SimulationError

VALUES = 5
"""Positions of each joint, from limit to limit."""
MOST_POSES = 20_000
"""A larger grid is drawn from."""
MOST_REACH_M = 10.0
"""Greatest distance of a grasp point along each axis; the points of claims grow with its square."""


@dataclass(frozen=True)
class Samples:
    """Free poses of an arm: joints (N, J) and grasp points (N, 3) in the base frame [m], of so many sampled."""

    contacts: Contacts
    joints: np.ndarray
    points: np.ndarray
    sampled: int


def sample(contacts: Contacts, seed: int) -> Samples:
    """Return the free poses of the grid of joint positions. Raises SimulationError if there are none or too far."""
    low, high = contacts.arm.chain.range
    number = len(low)
    if VALUES**number <= MOST_POSES:
        steps = np.stack(np.meshgrid(*[np.arange(VALUES)] * number, indexing="ij"), axis=-1).reshape(-1, number)
    else:
        steps = np.random.default_rng(seed).integers(0, VALUES, (MOST_POSES, number))
    joints = low + (high - low) * steps / (VALUES - 1)
    free = joints[contacts.free(joints)]
    if not len(free):
        met = sorted({f"'{one}' with '{other}'" for one, other in contacts.met(joints[len(joints) // 2])})
        raise SimulationError(
            f"{contacts.name}: the hand reaches nothing, since the robot meets itself or the floor in all "
            f"{len(joints)} poses of its arm, such as {', '.join(met[:3])}; valid: a foot, position and posture in "
            "which it stands clear, and meshes that collide without overlaps"
        )
    points = contacts.arm.chain.poses(free)[0][:, :3, 3]
    if not (farthest := float(np.abs(points).max())) <= MOST_REACH_M:
        raise SimulationError(
            f"{contacts.name}: the hand reaches {farthest:g} m; valid: up to {MOST_REACH_M:g} m, so check the lengths "
            "and limits of the model, which are in m, not mm"
        )
    return Samples(contacts, free, points, len(joints))
