"""The force with which an arm pushes, as the torques of its joints tell it."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from quartet_simulation.arm.body import ArmBody

DAMPING_M = 0.05
"""A force on which the joints have less of a lever than this counts little [m]: one along a stretched arm hardly shows
in its torques. The manuals of UR warn of the same as the knee-joint effect."""


class ContactForce:
    """Estimates the force at the tip of an arm's fingers from the torques that its motion does not explain.

    As Franka's O_F_ext_hat_K. All torques count as those of one force at the tip: what pushes on the arm nearer to its
    foot counts as less than it is, and what is held counts with its weight, as in an arm that was told of no payload.
    """

    def __init__(self, body: ArmBody) -> None:
        self._body = body
        self._tool = body.model.body(body.name(body.arm.tool)).id
        self._jacobian = np.zeros((3, body.model.nv))
        self._damping = DAMPING_M**2 * np.eye(3)

    def exceeds(self, limit: float) -> bool:
        """Return whether the force is over a limit [N]; cheap where it is far below, as in a free motion."""
        # Damped least squares make no more of torques than this, whatever the levers are.
        most = math.hypot(*self._body.external_torques()) / (2 * DAMPING_M)
        return most > limit and self.newtons() > limit

    def newtons(self) -> float:
        """Return the size of the force, mean of the last tick [N]."""
        body, tool = self._body, self._tool
        tip = body.data.xpos[tool] + body.data.xmat[tool].reshape(3, 3)[:, 2] * body.arm.tip_m
        mujoco.mj_jac(body.model, body.data, self._jacobian, None, tip, tool)
        levers = self._jacobian[:, body.arm_dof]
        force = np.linalg.solve(levers @ levers.T + self._damping, levers @ body.external_torques())
        return math.hypot(*force)
