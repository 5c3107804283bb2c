"""An arm with a gripper in the physics: its state, and the set points of its controllers."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Self

import mujoco
import numpy as np

from quartet_simulation.arm.external_torques import ExternalTorques
from quartet_simulation.arm.model import ArmModel, GripperModel
from quartet_simulation.solver import TIMESTEP

STEPS_PER_TICK = 5
TICK = STEPS_PER_TICK * TIMESTEP
"""Controllers run every 10 ms of world time."""
DAMPING_RATIO = 0.1
"""kv / kp of the arms' position servos; used to feed the wanted velocity forward."""


class ArmBody(ABC):
    """An arm with a gripper: reads its state and takes set points. Units: m, rad, s, N."""

    arm: ArmModel
    hand: GripperModel
    model: mujoco.MjModel
    data: mujoco.MjData
    _external: ExternalTorques

    def find_parts(self) -> None:
        """Find the joints and actuators of arm and gripper in the model."""
        joints = [self.model.joint(self.name(joint)) for joint in self.arm.joints]
        fingers = [self.model.joint(self.name(joint)) for joint in self.hand.finger_joints]
        self.arm_qpos = np.array([joint.qposadr[0] for joint in joints])
        self.arm_dof = np.array([joint.dofadr[0] for joint in joints])
        self.arm_act = np.array([self.model.actuator(self.name(joint)).id for joint in self.arm.joints])
        self.finger_qpos = [joint.qposadr[0] for joint in fingers]
        self.finger_dof = [joint.dofadr[0] for joint in fingers]
        self.grip_act = self.model.actuator(self.name("grip")).id

    def with_data(self, data: mujoco.MjData) -> Self:
        """Return the same robot of the same model in another state."""
        other = copy.copy(self)
        other.data = data
        return other

    @property
    @abstractmethod
    def time(self) -> float:
        """World time [s]."""

    def name(self, part: str) -> str:
        """Return the name of a part of this robot in the model."""
        return part

    def arm_positions(self) -> np.ndarray:
        """Return the joint positions of the arm [rad], shape (J,)."""
        return self.data.qpos[self.arm_qpos].copy()

    def arm_velocities(self) -> np.ndarray:
        """Return the joint speeds of the arm [rad/s], shape (J,)."""
        return self.data.qvel[self.arm_dof].copy()

    def arm_efforts(self) -> np.ndarray:
        """Return the joint torques of the arm [Nm], shape (J,)."""
        return self.data.actuator_force[self.arm_act].copy()

    def external_torques(self) -> np.ndarray:
        """Return the external torques of the arm's joints, mean of a tick [Nm], shape (J,)."""
        return self._external.of(self.arm_dof)

    def servo_arm(self, positions: np.ndarray, velocities: np.ndarray | None = None) -> None:
        """Set the set point of the position servos; velocities are fed forward so that tracking does not lag."""
        wanted = positions if velocities is None else positions + DAMPING_RATIO * velocities
        self.data.ctrl[self.arm_act] = wanted

    def opening(self) -> float:
        """Return the true distance between the pads [m]."""
        return self.hand.opening_at(sum(float(self.data.qpos[i]) for i in self.finger_qpos))

    def opening_speed(self) -> float:
        """Return how fast the fingers open [m/s]."""
        return (1 if self.hand.opens else -1) * sum(float(self.data.qvel[i]) for i in self.finger_dof)

    def grip_force(self) -> float:
        """Return the force with which the fingers are driven together [N]; negative when opening."""
        return (-1 if self.hand.opens else 1) * float(self.data.actuator_force[self.grip_act])

    def servo_gripper(self, opening: float, force: float) -> None:
        """Set the wanted opening [m] and the limit of the force [N]."""
        self.data.ctrl[self.grip_act] = self.hand.finger_at(opening)
        self.model.actuator_forcerange[self.grip_act] = (-force, force)

    @abstractmethod
    def held_object(self) -> str | None:
        """Return the object that both pads touch, None without one."""
