"""Calibration of one robot in one episode: how far what it knows of its own body is from the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import mujoco
import numpy as np

from quartet_simulation.arm.body import ArmBody
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.sensors.levels import CalibrationLevel
from quartet_simulation.sensors.noise import generator, unit_noise

LIMIT = 2.0
"""No error is larger than this many RMS errors: somebody would have noticed."""
CAMERAS = ("front", "arm")


@dataclass(frozen=True)
class Calibration:
    """Errors that last for an episode.

    joints: measured minus true position of each arm joint [rad], shape (J,). cameras: for each camera how its true
    mounting differs from the known one: a translation [m] and a rotation vector [rad], both of shape (3,), in its own
    frame. opening: measured minus true opening of the gripper [m]. force: measured over true force. noise: whether
    readings of the fingers in /joint_states are noisy.
    """

    joints: np.ndarray
    cameras: dict[str, tuple[np.ndarray, np.ndarray]]
    opening: float
    force: float
    noise: bool = True


def exact(joints: int) -> Calibration:
    """Return the calibration of an arm with so many joints of which nothing is off."""
    return Calibration(np.zeros(joints), {}, 0.0, 1.0, noise=False)


def draw_calibration(level: CalibrationLevel, seed: int, arm_joints: int = 6) -> Calibration:
    """Return the calibration of a seed; each RMS error is that of the whole vector, of joints and gripper of each."""
    rng = generator(seed, "calibration", 0.0)

    def vector(rms: float) -> np.ndarray:
        drawn = rng.normal(size=3) / np.sqrt(3)
        return rms * drawn * min(1.0, LIMIT / float(np.linalg.norm(drawn)))

    cameras = {name: (vector(level.camera_m), vector(level.camera_rad)) for name in CAMERAS}
    joints = level.joint_rad * np.clip(rng.normal(size=arm_joints), -LIMIT, LIMIT)
    opening, force = np.clip(rng.normal(size=2), -LIMIT, LIMIT)
    return Calibration(joints, cameras, float(level.opening_m * opening), float(1 + level.effort_share * force))


class CameraMounts:
    """The cameras of one robot as they were meant to be mounted, and as they are in an episode."""

    def __init__(self, physics: ArmBody) -> None:
        self._model, self._data = physics.model, physics.data
        self._ids = {camera: int(physics.model.camera(physics.name(camera)).id) for camera in CAMERAS}
        self._meant = {
            camera: (physics.model.cam_pos[index].copy(), physics.model.cam_quat[index].copy())
            for camera, index in self._ids.items()
        }

    def shift(self, calibration: Calibration) -> None:
        """Mount the cameras as in `calibration`; what the robot knows of them stays as it is."""
        for camera, (position, turn) in self._meant.items():
            index = self._ids[camera]
            self._model.cam_pos[index], self._model.cam_quat[index] = position, turn
            if camera not in calibration.cameras:
                continue
            moved, turned = calibration.cameras[camera]
            step, small = np.zeros(3), np.zeros(4)
            mujoco.mju_rotVecQuat(step, moved, turn)
            angle = float(np.linalg.norm(turned))
            mujoco.mju_axisAngle2Quat(small, turned / max(angle, 1e-12), angle)
            self._model.cam_pos[index] = position + step
            mujoco.mju_mulQuat(self._model.cam_quat[index], turn, small)
        mujoco.mj_camlight(self._model, self._data)


B = TypeVar("B", bound=ArmBody)


class BodyState(Generic[B]):
    """The robot as its encoders have it: joints with their offsets and noise, everything else where it is."""

    def __init__(self, physics: B) -> None:
        self._true = physics
        self._known = physics.with_data(mujoco.MjData(physics.model))

    def at(self, joints: np.ndarray) -> B:
        """Return the robot with its arm at measured joints [rad], shape (J,)."""
        self._known.data.qpos[:] = self._true.data.qpos
        self._known.data.qpos[self._true.arm_qpos] = joints
        mujoco.mj_kinematics(self._known.model, self._known.data)
        return self._known


def measured_joints(physics: ArmBody, calibration: Calibration) -> np.ndarray:
    """Return the arm's joints as the encoders have them now [rad], shape (J,)."""
    noise = unit_noise(0, "joints", physics.time, len(physics.arm.joints))
    return physics.arm_positions() + calibration.joints + dim.JOINT_NOISE * noise
