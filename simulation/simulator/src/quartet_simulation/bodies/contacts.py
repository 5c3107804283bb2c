"""Whether a robot meets itself or the floor at joint positions of its arm."""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from quartet_simulation.arm.collision import sum_masks
from quartet_simulation.bodies.body import FLOOR, Body, BodyArm
from quartet_simulation.described.arm import frequent
from quartet_simulation.described.structure import lineage

MOVED, STILL = 1, 2


class Contacts:
    """Collision checks of a body with an arm. Parts that do not collide by design are left out.

    Those are pairs that no joint of the arm moves against each other, neighbours in its chain, pairs that the body file
    names or the model excludes, pairs that meet in the body's posture, and pairs that meet in nearly all positions, as
    MoveIt's Setup Assistant disables them.
    """

    def __init__(self, body: Body, arm: BodyArm) -> None:
        self.name, self.arm = body.file.name, arm
        self.model = copy.copy(body.model)
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:] = body.posture
        self._places = self.model.jnt_qposadr[list(arm.joints)]
        links = set(self.model.jnt_bodyid[list(arm.joints)].tolist())
        self._rank = np.array([len(links & set(lineage(self.model, body))) for body in range(self.model.nbody)])
        """How many joints of the arm move each body (B,)."""
        self._floor = int(self.model.body(FLOOR).id)
        self._mask()
        rank, floor = self._rank, self._floor
        self._apart = np.abs(rank[:, None] - rank[None, :]) <= 1
        # The first link may not go into the floor, which is no neighbour of it.
        self._apart[floor], self._apart[:, floor] = rank == 0, rank == 0
        self._leave_out([(int(self.model.body(a).id), int(self.model.body(b).id)) for a, b in body.file.touching])
        self._leave_out(self._met(self.data.qpos[self._places].copy()))
        self._leave_out(frequent(self._met, *arm.chain.range))

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

    def _leave_out(self, pairs: list[tuple[int, int]]) -> None:
        # To be in the floor is never by design.
        for one, other in (pair for pair in pairs if self._floor not in pair):
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
