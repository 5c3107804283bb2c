"""Whether a robot meets itself or the floor at joint positions of its arm."""

from __future__ import annotations

import copy
from collections import Counter

import mujoco
import numpy as np

from quartet_simulation.arm.collision import sum_masks
from quartet_simulation.bodies.body import FLOOR, Body, BodyArm
from quartet_simulation.described.arm import ALWAYS, SAMPLES
from quartet_simulation.described.structure import lineage

MOVED, STILL = 1, 2


class Contacts:
    """Collision checks of a body with an arm. Parts that do not collide by design are left out.

    Those are pairs that no joint of the arm moves against each other, neighbours in its chain, pairs that the body file
    names or the model excludes, pairs that meet in the body's posture, and pairs that meet in nearly all positions, as
    MoveIt's Setup Assistant disables them.
    """

    def __init__(self, body: Body, arm: BodyArm) -> None:
        self.model = copy.copy(body.model)
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:] = body.posture
        self._places = self.model.jnt_qposadr[list(arm.joints)]
        self._rank = _ranks(self.model, arm)
        floor = self._floor = int(self.model.body(FLOOR).id)
        self._mask()
        rank = self._rank
        self._apart = np.abs(rank[:, None] - rank[None, :]) <= 1
        # The first link may not go into the floor, which is no neighbour of it.
        self._apart[floor], self._apart[:, floor] = rank == 0, rank == 0
        for one, other in body.touching:
            self._leave_out(int(self.model.body(one).id), int(self.model.body(other).id))
        posture = self.data.qpos[self._places].copy()
        for one, other in self._met(posture):
            self._leave_out(one, other)
        low, high = arm.chain.range
        counts: Counter[tuple[int, int]] = Counter()
        for joints in np.random.default_rng(0).uniform(low, high, (SAMPLES, len(low))):
            counts.update(set(self._met(joints)))
        for (one, other), count in counts.items():
            if count >= ALWAYS * SAMPLES:
                self._leave_out(one, other)

    def free(self, joints: np.ndarray) -> np.ndarray:
        """Return for joint positions (N, J) whether nothing is met, (N,)."""
        return np.array([not self._met(one) for one in joints], dtype=bool)

    def met(self, joints: np.ndarray) -> list[tuple[str, str]]:
        """Return the names of the bodies that meet at joint positions (J,)."""
        return [(self.model.body(one).name, self.model.body(other).name) for one, other in self._met(joints)]

    def _mask(self) -> None:
        """Let only what the arm moves collide, with itself and all else."""
        model = self.model
        solid = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
        moved = solid & (self._rank[model.geom_bodyid] > 0)
        model.geom_contype[:] = np.where(moved, MOVED, np.where(solid, STILL, 0))
        model.geom_conaffinity[:] = np.where(moved, MOVED | STILL, 0)
        sum_masks(model)

    def _leave_out(self, one: int, other: int) -> None:
        # To be in the floor is never by design.
        if self._floor not in (one, other):
            self._apart[one, other] = self._apart[other, one] = True

    def _met(self, joints: np.ndarray) -> list[tuple[int, int]]:
        model, data = self.model, self.data
        data.qpos[self._places] = joints
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        if not data.ncon:
            return []
        bodies = model.geom_bodyid[data.contact.geom]
        counts = (data.contact.dist < 0) & ~self._apart[bodies[:, 0], bodies[:, 1]]
        return [(int(min(pair)), int(max(pair))) for pair in bodies[counts]]


def _ranks(model: mujoco.MjModel, arm: BodyArm) -> np.ndarray:
    """Return for each body how many joints of the arm move it, (B,)."""
    links = [int(model.jnt_bodyid[joint]) for joint in arm.joints]
    return np.array([len(set(links) & set(lineage(model, body))) for body in range(model.nbody)])
