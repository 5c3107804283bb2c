"""Frames, joint states, gripper state and the map as the robot's drivers publish them."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import mujoco
import numpy as np

from quartet_simulation.arm.body import ArmBody
from quartet_simulation.errors import UnknownNameError
from quartet_simulation.mobile.build import OPTICAL
from quartet_simulation.physics import Physics, pose_of_body
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.sensors.calibration import Calibration, measured_joints
from quartet_simulation.sensors.localisation import Localisation
from quartet_simulation.sensors.noise import generator, unit_noise

Transform = tuple[str, str, list[float], list[float]]
"""Parent, child, translation [m], quaternion (x, y, z, w)."""
SIZES = {
    "front": (dim.IMAGE_WIDTH, dim.IMAGE_HEIGHT),
    "arm": (dim.IMAGE_WIDTH, dim.IMAGE_HEIGHT),
    "overhead": (960, 720),
}
ROWS_AT_ONCE = 32
"""Rows of a picture that are computed together, so that all that belongs to them stays in the processor's cache."""
WIDTH_NOISE, EFFORT_NOISE = 0.0003, 0.4


def moving(physics: Physics, localisation: Localisation) -> list[Transform]:
    """Return the moving frames: map -> odom -> base_footprint, and the arm's links below its mount."""
    return [
        _planar("map", "odom", localisation.map_to_odom(physics.time)),
        _planar("odom", "base_footprint", localisation.odom()),
        *arm_links(physics),
    ]


def arm_links(physics: ArmBody) -> list[Transform]:
    """Return the frames that move with the arm's joints, each in the one before."""
    chain = (physics.arm.mount, *physics.arm.links)
    return [_between(physics, parent, link) for parent, link in pairwise(chain)]


def static(physics: Physics) -> list[Transform]:
    """Mountings: arm base, flange, finger tip, cameras (optical frames), laser."""
    return [
        *arm_mountings(physics),
        ("base_footprint", "base_link", [0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]),
        ("base_footprint", "laser", [0.0, 0.0, physics.build.laser_height], [0.0, 0.0, 0.0, 1.0]),
    ]


def arm_mountings(physics: ArmBody) -> list[Transform]:
    """Return the fixed frames of arm, gripper and cameras."""
    arm = physics.arm
    return [
        _between(physics, arm.base, arm.mount),
        _between(physics, arm.links[-1], arm.tool),
        (arm.tool, arm.tip, [0.0, 0.0, arm.tip_m], [0.0, 0.0, 0.0, 1.0]),
        *(
            _relative(parent, OPTICAL[camera], _body_pose(physics, parent), optical_pose(physics, camera))
            for camera, parent in (("front", arm.base), ("arm", arm.tool))
        ),
    ]


def optical_pose(physics: ArmBody, camera: str) -> np.ndarray:
    """Optical frame (x right, y down, z forward) of a camera in map, 4x4."""
    index = physics.model.camera(physics.name(camera)).id
    pose = np.eye(4)
    # MuJoCo's cameras look along -z with y up.
    pose[:3, :3] = physics.data.cam_xmat[index].reshape(3, 3) @ np.diag([1.0, -1.0, -1.0])
    pose[:3, 3] = physics.data.cam_xpos[index]
    return pose


def camera_info(physics: ArmBody, camera: str) -> dict[str, Any]:
    """Pinhole intrinsics of a camera of the robot, or of the overhead one, in pixels. Raises UnknownNameError."""
    if camera not in SIZES:
        raise UnknownNameError("camera", camera, SIZES)
    width, height = SIZES[camera]
    index = physics.model.camera(camera if camera == "overhead" else physics.name(camera)).id
    fovy = math.radians(float(physics.model.cam_fovy[index]))
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


def joint_states(physics: ArmBody, calibration: Calibration, number: int = 0) -> dict[str, list[Any]]:
    """Return name, position [rad], velocity [rad/s] and effort of the arm's joints and the finger joint.

    `number` counts the readings at this time of the world: the noise of an effort differs from one to the next, so that
    a mean of them in a world that stands still is as good as on a robot.
    """
    opening, force = measured_fingers(physics, calibration, number)
    rate = (physics.hand.open_position - physics.hand.closed_position) / physics.hand.stroke
    return {
        "name": [*physics.arm.joints, physics.hand.joint],
        "position": [*measured_joints(physics, calibration).tolist(), physics.hand.position_of(opening)],
        "velocity": [*physics.arm_velocities().tolist(), physics.opening_speed() * rate],
        "effort": [*physics.arm_efforts().tolist(), force],
    }


def measured_fingers(physics: ArmBody, calibration: Calibration, number: int = 0) -> tuple[float, float]:
    """Return the opening [m] and the force [N] as the gripper measures them; `number` is that of joint_states."""
    of_width, of_effort = (float(noise) for noise in unit_noise(0, "fingers", physics.time, 2))
    if number:
        of_effort = float(generator(number, "effort", physics.time).normal())
    opening = physics.opening() + calibration.opening + WIDTH_NOISE * calibration.noise * of_width
    return opening, physics.grip_force() * calibration.force + EFFORT_NOISE * calibration.noise * of_effort


def gripper_state(physics: ArmBody, command: float, seed: int, calibration: Calibration) -> dict[str, float]:
    """Return width [m] and effort [N] as measured, position, command and its width `wanted` [m], moving 0 or 1."""
    noise = unit_noise(seed, "gripper", physics.time, 2)
    width = min(max(physics.opening() + calibration.opening + WIDTH_NOISE * float(noise[0]), 0.0), physics.hand.stroke)
    return {
        "width": width,
        "effort": max(0.0, abs(physics.grip_force()) * calibration.force + EFFORT_NOISE * float(noise[1])),
        "position": physics.hand.position_of(width),
        "command": command,
        "wanted": physics.hand.width_of(command),
        "moving": float(abs(physics.opening_speed()) > 0.004),
    }


def _planar(parent: str, child: str, pose: tuple[float, float, float]) -> Transform:
    x, y, yaw = pose
    return parent, child, [x, y, 0.0], [0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)]


def _body_pose(physics: ArmBody, body: str) -> np.ndarray:
    return pose_of_body(physics.data, physics.model.body(physics.name(body)).id)


def _between(physics: ArmBody, parent: str, child: str) -> Transform:
    return _relative(parent, child, _body_pose(physics, parent), _body_pose(physics, child))


def _relative(parent: str, child: str, a: np.ndarray, b: np.ndarray) -> Transform:
    relative = np.linalg.inv(a) @ b
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, relative[:3, :3].flatten())
    w, x, y, z = quaternion.tolist()
    return parent, child, relative[:3, 3].tolist(), [x, y, z, w]
