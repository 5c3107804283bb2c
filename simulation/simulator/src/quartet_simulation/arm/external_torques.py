"""External torques of joints: what the model of the robot's own motion does not explain."""

from __future__ import annotations

import mujoco
import numpy as np


class ExternalTorques:
    """The mean over the steps of a tick of what pushes on the joints beside motors, gravity and inertia.

    The equation of motion leaves it over: M(q) qacc + bias(q, qvel) - motors - springs and dampers. MuJoCo has it as
    the generalised force of all constraints; an arm knows it from the torques of its motors and the motion of its
    joints by a momentum observer (De Luca et al., "Collision Detection and Safe Reaction with the DLR-III Lightweight
    Manipulator Arm", 2006). Dry friction, a constraint as well, hides what is no more than its size.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model
        self._sum, self._count = np.zeros(model.nv), 0

    def begin(self) -> None:
        """Begin a tick."""
        self._sum[:] = 0.0
        self._count = 0

    def add(self, data: mujoco.MjData) -> None:
        """Count a step that was just made."""
        self._sum += data.qfrc_constraint
        self._count += 1

    def of(self, dofs: np.ndarray) -> np.ndarray:
        """Return the mean at degrees of freedom [Nm, N], shape (J,)."""
        mean = self._sum[dofs] / max(self._count, 1)
        friction = self._model.dof_frictionloss[dofs]
        return mean - np.minimum(np.maximum(mean, -friction), friction)
