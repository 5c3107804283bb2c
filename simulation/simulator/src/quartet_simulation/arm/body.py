"""What the controllers of arm and gripper need of the physics, whichever robot and world it is."""

from __future__ import annotations

from typing import Protocol

import mujoco
import numpy as np

from quartet_simulation.arm.model import ArmModel, GripperModel
from quartet_simulation.solver import TIMESTEP

STEPS_PER_TICK = 5
TICK = STEPS_PER_TICK * TIMESTEP
"""Controllers run every 10 ms of world time."""
DAMPING_RATIO = 0.1
"""kv / kp of the arms' position servos; used to feed the wanted velocity forward."""


class ArmBody(Protocol):
    """An arm with a gripper: reads its state and takes set points. Units: m, rad, s, N."""

    arm: ArmModel
    hand: GripperModel
    model: mujoco.MjModel
    data: mujoco.MjData
    arm_qpos: np.ndarray
    """Where qpos has the arm's joints, shape (J,)."""
    arm_dof: np.ndarray
    """Where qvel has them, shape (J,)."""

    @property
    def time(self) -> float:
        """World time [s]."""
        ...

    def name(self, part: str) -> str:
        """Return what a part of this robot is called in the model."""
        ...

    def arm_positions(self) -> np.ndarray:
        """Return the joint positions of the arm [rad], shape (J,)."""
        ...

    def arm_velocities(self) -> np.ndarray:
        """Return the joint speeds of the arm [rad/s], shape (J,)."""
        ...

    def arm_efforts(self) -> np.ndarray:
        """Return the joint torques of the arm [Nm], shape (J,)."""
        ...

    def external_torques(self) -> np.ndarray:
        """Return the external torques of the arm's joints, mean of a tick [Nm], shape (J,)."""
        ...

    def servo_arm(self, positions: np.ndarray, velocities: np.ndarray | None = None) -> None:
        """Set the set point of the position servos."""
        ...

    def opening(self) -> float:
        """Return the true distance between the pads [m]."""
        ...

    def opening_speed(self) -> float:
        """Return how fast the fingers open [m/s]."""
        ...

    def grip_force(self) -> float:
        """Return the force with which the fingers are driven together [N]; negative when opening."""
        ...

    def servo_gripper(self, opening: float, force: float) -> None:
        """Set the wanted opening [m] and the limit of the force [N]."""
        ...

    def held_object(self) -> str | None:
        """Return the object that both pads touch, None without one."""
        ...
