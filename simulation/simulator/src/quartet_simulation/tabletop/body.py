"""The Panda at its table as the controllers of arm and gripper see it."""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from quartet_simulation.arm.body import DAMPING_RATIO, STEPS_PER_TICK, TICK
from quartet_simulation.arm.model import standing
from quartet_simulation.arm.panda import PANDA, PANDA_HAND
from quartet_simulation.robot import panda
from quartet_simulation.tabletop.kinematics import FOOT
from quartet_simulation.tabletop.world import Tabletop

ARM = PANDA.moved(standing((0.0, 0.0, FOOT[2])))
"""The arm in base_footprint, on the floor under its foot."""


class PandaBody:
    """Reads the state of an episode and writes set points.

    Args:
        table: the episode.
    """

    arm, hand = ARM, PANDA_HAND

    def __init__(self, table: Tabletop) -> None:
        self.table = table
        self.model: mujoco.MjModel = table.model
        self.data: mujoco.MjData = table.data
        self._ticks = 0
        joints = [self.model.joint(name) for name in panda.JOINTS]
        fingers = [self.model.joint(name) for name in PANDA_HAND.finger_joints]
        self.arm_qpos = np.array([joint.qposadr[0] for joint in joints])
        self.arm_dof = np.array([joint.dofadr[0] for joint in joints])
        self._servos = np.array([self.model.actuator(name).id for name in panda.JOINTS])
        self._finger_qpos = [joint.qposadr[0] for joint in fingers]
        self._finger_dof = [joint.dofadr[0] for joint in fingers]
        self._grip = self.model.actuator("grip").id

    def with_data(self, data: mujoco.MjData) -> PandaBody:
        """Return the same arm of the same model in another state."""
        other = copy.copy(self)
        other.data = data
        return other

    @property
    def time(self) -> float:
        """World time [s]."""
        return self._ticks * TICK

    def tick(self) -> None:
        """Advance by one tick with the present set points."""
        self.table.advance(STEPS_PER_TICK)
        self._ticks += 1

    def name(self, part: str) -> str:
        """Return what a part is called in the model: its own name."""
        return part

    def arm_positions(self) -> np.ndarray:
        """Return the joint positions of the arm [rad], shape (7,)."""
        return self.data.qpos[self.arm_qpos].copy()

    def arm_velocities(self) -> np.ndarray:
        """Return the joint speeds of the arm [rad/s], shape (7,)."""
        return self.data.qvel[self.arm_dof].copy()

    def arm_efforts(self) -> np.ndarray:
        """Return the joint torques of the arm [Nm], shape (7,)."""
        return self.data.actuator_force[self._servos].copy()

    def external_torques(self) -> np.ndarray:
        """Return the external torques of the arm's joints, mean of a tick [Nm], shape (7,)."""
        return self.table.external_torques(self.arm_dof)

    def servo_arm(self, positions: np.ndarray, velocities: np.ndarray | None = None) -> None:
        """Set the set point of the position servos; velocities are fed forward so that tracking does not lag."""
        wanted = positions if velocities is None else positions + DAMPING_RATIO * velocities
        self.data.ctrl[self._servos] = wanted

    def opening(self) -> float:
        """Return the true distance between the pads [m]."""
        return sum(float(self.data.qpos[index]) for index in self._finger_qpos)

    def opening_speed(self) -> float:
        """Return how fast the fingers open [m/s]."""
        return sum(float(self.data.qvel[index]) for index in self._finger_dof)

    def grip_force(self) -> float:
        """Return the force with which the fingers are driven together [N]; negative when opening."""
        return -float(self.data.actuator_force[self._grip])

    def servo_gripper(self, opening: float, force: float) -> None:
        """Set the wanted opening [m] and the limit of the force [N]."""
        self.data.ctrl[self._grip] = opening / 2
        self.model.actuator_forcerange[self._grip] = (-force, force)

    def held_object(self) -> str | None:
        """Return the thing that both fingers press, None without one."""
        return self.table.held
