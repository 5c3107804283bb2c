"""Frames, joint states, gripper state and the map as the robot's drivers publish them."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np

from quartet_simulation.errors import UnknownNameError
from quartet_simulation.physics import Physics
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.sensors.calibration import Calibration, measured_joints
from quartet_simulation.sensors.localisation import Localisation
from quartet_simulation.sensors.noise import generator

Transform = tuple[str, str, list[float], list[float]]
"""Parent, child, translation [m], quaternion (x, y, z, w)."""
OPTICAL = {"front": "front_camera_color_optical_frame", "arm": "arm_camera_color_optical_frame"}
SIZES = {
    "front": (dim.IMAGE_WIDTH, dim.IMAGE_HEIGHT),
    "arm": (dim.IMAGE_WIDTH, dim.IMAGE_HEIGHT),
    "overhead": (960, 720),
}
FINGER_JOINT = "robotiq_140_finger_joint"
WIDTH_NOISE, EFFORT_NOISE = 0.0003, 0.4


def moving(physics: Physics, localisation: Localisation) -> list[Transform]:
    """Return the moving frames: map -> odom -> base_footprint, and the arm's links below arm_base."""
    result = [
        _planar("map", "odom", localisation.map_to_odom(physics.time)),
        _planar("odom", "base_footprint", localisation.odom()),
    ]
    parent = "arm_base"
    for link in (*dim.ARM_LINKS, "arm_tool0"):
        if link == "arm_tool0":
            continue
        result.append(_between(physics, parent, link))
        parent = link
    return result


def static(physics: Physics) -> list[Transform]:
    """Mountings: arm base, flange, finger tip, cameras (optical frames), laser."""
    result = [
        _between(physics, "base_footprint", "arm_base"),
        _between(physics, dim.ARM_LINKS[-1], "arm_tool0"),
        ("arm_tool0", "gripper_tip", [0.0, 0.0, dim.FINGER_OFFSET], [0.0, 0.0, 0.0, 1.0]),
        ("base_footprint", "base_link", [0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]),
        ("base_footprint", "laser", [0.0, 0.0, dim.LASER_HEIGHT], [0.0, 0.0, 0.0, 1.0]),
    ]
    for camera, parent in (("front", "base_footprint"), ("arm", "arm_tool0")):
        result.append(_relative(parent, OPTICAL[camera], _body_pose(physics, parent), optical_pose(physics, camera)))
    return result


def optical_pose(physics: Physics, camera: str) -> np.ndarray:
    """Optical frame (x right, y down, z forward) of a camera in map, 4x4."""
    index = physics.model.camera(physics.name(camera)).id
    pose = np.eye(4)
    # MuJoCo's cameras look along -z with y up.
    pose[:3, :3] = physics.data.cam_xmat[index].reshape(3, 3) @ np.diag([1.0, -1.0, -1.0])
    pose[:3, 3] = physics.data.cam_xpos[index]
    return pose


def camera_info(model: mujoco.MjModel, camera: str) -> dict[str, Any]:
    """Pinhole intrinsics in pixels. Raises UnknownNameError."""
    if camera not in SIZES:
        raise UnknownNameError("camera", camera, SIZES)
    width, height = SIZES[camera]
    fovy = math.radians(float(model.cam_fovy[model.camera(camera).id]))
    focal = height / 2 / math.tan(fovy / 2)
    frame = OPTICAL.get(camera, camera)
    return {
        "width": width,
        "height": height,
        "fx": focal,
        "fy": focal,
        "cx": (width - 1) / 2,  # the middle of the first pixel is (0, 0), as in ROS
        "cy": (height - 1) / 2,
        "frame": frame,
    }


def joint_states(physics: Physics, calibration: Calibration) -> dict[str, list[Any]]:
    """Return name, position [rad], velocity [rad/s] and effort of the arm's joints and the finger joint."""
    noise = generator(0, "fingers", physics.time).normal(size=2) * calibration.noise
    opening = physics.opening() + calibration.opening + WIDTH_NOISE * float(noise[0])
    force = physics.grip_force() * calibration.force + EFFORT_NOISE * float(noise[1])
    return {
        "name": [*dim.ARM_JOINTS, FINGER_JOINT],
        "position": [*measured_joints(physics, calibration).tolist(), dim.position_of(opening)],
        "velocity": [*physics.arm_velocities().tolist(), -physics.opening_speed() * dim.CLOSED_POSITION / dim.STROKE],
        "effort": [*physics.arm_efforts().tolist(), force],
    }


def gripper_state(physics: Physics, command: float, seed: int, calibration: Calibration) -> dict[str, float]:
    """Return width [m] and effort [N] as measured, position and command (0.0 .. 0.7), moving 0 or 1."""
    noise = generator(seed, "gripper", physics.time).normal(size=2)
    width = min(max(physics.opening() + calibration.opening + WIDTH_NOISE * float(noise[0]), 0.0), dim.STROKE)
    return {
        "width": width,
        "effort": max(0.0, abs(physics.grip_force()) * calibration.force + EFFORT_NOISE * float(noise[1])),
        "position": dim.position_of(width),
        "command": command,
        "moving": float(abs(physics.opening_speed()) > 0.004),
    }


def _planar(parent: str, child: str, pose: tuple[float, float, float]) -> Transform:
    x, y, yaw = pose
    return parent, child, [x, y, 0.0], [0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)]


def _body_pose(physics: Physics, body: str) -> np.ndarray:
    index = physics.model.body(physics.name(body)).id
    pose = np.eye(4)
    pose[:3, :3] = physics.data.xmat[index].reshape(3, 3)
    pose[:3, 3] = physics.data.xpos[index]
    return pose


def _between(physics: Physics, parent: str, child: str) -> Transform:
    return _relative(parent, child, _body_pose(physics, parent), _body_pose(physics, child))


def _relative(parent: str, child: str, a: np.ndarray, b: np.ndarray) -> Transform:
    relative = np.linalg.inv(a) @ b
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, relative[:3, :3].flatten())
    w, x, y, z = quaternion.tolist()
    return parent, child, relative[:3, 3].tolist(), [x, y, z, w]
