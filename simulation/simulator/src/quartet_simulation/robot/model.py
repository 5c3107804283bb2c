"""The robot as MuJoCo bodies: planar holonomic base, six-joint arm, parallel gripper, cameras."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np

from quartet_simulation.robot import dimensions as dim

GROUP = 2
"""Geom group of everything that belongs to the robot."""
DARK, GREY, LIGHT, BLUE = (0.13, 0.13, 0.14, 1), (0.45, 0.46, 0.48, 1), (0.80, 0.81, 0.83, 1), (0.25, 0.42, 0.60, 1)
PAD_FRICTION = (1.0, 0.005, 0.0001)


def prefix_of(number: int) -> str:
    """What the names of a robot's parts begin with in the model; those of the first are plain."""
    return "" if number == 0 else f"robot{number + 1}/"


def number_of(name: str) -> int:
    """Which robot a part belongs to, by its name."""
    head, slash, _ = name.partition("/")
    return int(head.removeprefix("robot")) - 1 if slash and head.startswith("robot") else 0


def add_robots(spec: mujoco.MjSpec, count: int) -> None:
    """Add `count` robots at the origin of `spec`."""
    add_robot(spec)
    for number in range(1, count):
        one = mujoco.MjSpec()
        one.compiler.degree = False
        add_robot(one)
        spec.attach(one, prefix=prefix_of(number), frame=spec.worldbody.add_frame())


def quaternion(axis: tuple[float, float, float], angle: float) -> list[float]:
    """MuJoCo quaternion (w, x, y, z) of a turn by `angle` about the unit vector `axis`."""
    s = math.sin(angle / 2)
    return [math.cos(angle / 2), *(a * s for a in axis)]


def add_robot(spec: mujoco.MjSpec) -> None:
    """Add the robot at the origin of `spec`; its planar joints are base_x, base_y (map) and base_yaw."""
    base = spec.worldbody.add_body(name="base_footprint")
    for name, kind, axis, friction in (
        ("base_x", mujoco.mjtJoint.mjJNT_SLIDE, (1, 0, 0), 100),
        ("base_y", mujoco.mjtJoint.mjJNT_SLIDE, (0, 1, 0), 100),
        ("base_yaw", mujoco.mjtJoint.mjJNT_HINGE, (0, 0, 1), 30),
    ):
        base.add_joint(name=name, type=kind, axis=axis, frictionloss=friction, armature=1.0)
    for name, kv, limit in (("base_x", 4000, 900), ("base_y", 4000, 900), ("base_yaw", 1500, 300)):
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.set_to_velocity(kv=kv)
        actuator.forcelimited, actuator.forcerange = True, [-limit, limit]
    _add_body(base)
    flange = add_arm(spec, base, dim.ARM_MOUNT, dim.ARM_MOUNT_YAW)
    add_gripper(spec, flange)
    _add_cameras(base, flange)


def _box(body: Any, name: str, pos: Any, half: Any, rgba: Any, mass: float = 0.0, **more: Any) -> Any:
    return body.add_geom(
        name=name, type=mujoco.mjtGeom.mjGEOM_BOX, pos=pos, size=half, rgba=rgba, mass=mass, group=GROUP, **more
    )


def _capsule(body: Any, name: str, start: Any, end: Any, radius: float, rgba: Any, mass: float) -> Any:
    return body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        fromto=[*start, *end],
        size=[radius, 0, 0],
        rgba=rgba,
        mass=mass,
        group=GROUP,
    )


def _add_body(base: Any) -> None:
    half_length, half_width = dim.BASE_LENGTH / 2, dim.BASE_WIDTH / 2
    _box(base, "body", (0, 0, 0.26), (half_length, half_width, 0.19), DARK, mass=60)
    _box(base, "body_top", (0, 0, 0.455), (half_length - 0.03, half_width - 0.03, 0.005), LIGHT)
    mount_x, _, mount_z = dim.ARM_MOUNT
    _box(base, "pedestal", (mount_x - 0.03, 0, (0.45 + mount_z) / 2), (0.09, 0.09, (mount_z - 0.45) / 2), GREY, 5)
    for i, (x, y) in enumerate(((0.23, 0.26), (0.23, -0.26), (-0.23, 0.26), (-0.23, -0.26))):
        base.add_geom(
            name=f"wheel_{i}",
            type=mujoco.mjtGeom.mjGEOM_CYLINDER,
            pos=(x, y, 0.11),
            size=[0.11, 0.045, 0],
            quat=quaternion((1, 0, 0), math.pi / 2),
            rgba=(0.05, 0.05, 0.05, 1),
            mass=0,
            group=GROUP,
            contype=0,
            conaffinity=0,
        )
    x, y, z = dim.MAST
    _capsule(base, "mast", (x - 0.05, y, 0.46), (x - 0.05, y, z - 0.03), 0.018, GREY, 1)
    _box(base, "front_camera_body", (x - 0.03, y, z), (0.02, 0.06, 0.02), DARK, 0.3)


def add_arm(spec: mujoco.MjSpec, base: Any, pos: tuple[float, float, float], yaw: float) -> Any:
    """Add the chain of the UR5's public description to the body `base`; return the flange, the body arm_tool0.

    Args:
        spec: specification that gets the arm's actuators.
        base: body that the arm stands on.
        pos: where it stands, in the frame of `base` [m].
        yaw: its turn about the z axis of `base` [rad].
    """
    mount = base.add_body(name="arm_base", pos=pos, quat=quaternion((0, 0, 1), yaw))
    mount.add_geom(
        name="arm_base",
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        pos=(0, 0, 0.02),
        size=[0.07, 0.02, 0],
        rgba=GREY,
        mass=2,
        group=GROUP,
    )
    y90 = quaternion((0, 1, 0), math.pi / 2)
    limits = dict(zip(dim.ARM_JOINTS, zip(dim.JOINT_LOWER, dim.JOINT_UPPER, strict=True), strict=True))
    chain = (
        ((0, 0, dim.UR5_D1), None, (0, 0, 1), 3.7),
        ((0, dim.SHOULDER_OFFSET, 0), y90, (0, 1, 0), 8.4),
        ((0, -dim.ELBOW_OFFSET, dim.UR5_A2), None, (0, 1, 0), 2.3),
        ((0, 0, dim.UR5_A3), y90, (0, 1, 0), 1.2),
        ((0, dim.WRIST_OFFSET, 0), None, (0, 0, 1), 1.2),
        ((0, 0, dim.UR5_D5), None, (0, 1, 0), 0.2),
    )
    shapes = (
        ((0, 0, -0.03), (0, 0.07, 0), 0.058),
        ((0, 0, 0), (0, 0, dim.UR5_A2), 0.052),
        ((0, 0, 0), (0, 0, dim.UR5_A3), 0.042),
        ((0, 0.03, 0), (0, dim.WRIST_OFFSET, 0), 0.038),
        ((0, 0, 0), (0, 0, dim.UR5_D5), 0.038),
        ((0, 0.01, 0), (0, 0.045, 0), 0.036),
    )
    body = mount
    for i, (pos, quat, axis, mass) in enumerate(chain):
        body = body.add_body(name=dim.ARM_LINKS[i], pos=pos, gravcomp=1)
        if quat is not None:
            body.quat = quat
        big = i < 3
        low, high = limits[dim.ARM_JOINTS[i]]
        body.add_joint(
            name=dim.ARM_JOINTS[i],
            type=mujoco.mjtJoint.mjJNT_HINGE,
            axis=axis,
            armature=0.1,
            limited=True,
            range=(low, high),
        )
        start, end, radius = shapes[i]
        _capsule(body, dim.ARM_LINKS[i], start, end, radius, LIGHT if i in (1, 2) else BLUE, mass)
        actuator = spec.add_actuator(
            name=dim.ARM_JOINTS[i], target=dim.ARM_JOINTS[i], trntype=mujoco.mjtTrn.mjTRN_JOINT
        )
        kp, kv, limit = (4000, 400, 150) if big else (1000, 100, 40)
        actuator.set_to_position(kp=kp, kv=kv)
        actuator.forcelimited, actuator.forcerange = True, [-limit, limit]
        actuator.ctrllimited = False
    return body.add_body(name="arm_tool0", pos=(0, dim.UR5_D6, 0), quat=quaternion((1, 0, 0), -math.pi / 2), gravcomp=1)


def add_gripper(spec: mujoco.MjSpec, flange: Any) -> None:
    """Add two fingers that close along x of arm_tool0 and reach FINGER_OFFSET along its z."""
    _box(flange, "palm", (0, 0, 0.025), (0.055, 0.032, 0.025), DARK, 0.5)
    tip, half_width = dim.FINGER_OFFSET, dim.FINGER_WIDTH / 2
    for side, sign in (("left", 1), ("right", -1)):
        finger = flange.add_body(name=f"{side}_finger", pos=(sign * dim.STROKE / 2, 0, 0), gravcomp=1)
        finger.add_joint(
            name=f"{side}_finger_joint",
            type=mujoco.mjtJoint.mjJNT_SLIDE,
            axis=(-sign, 0, 0),
            limited=True,
            range=(0, dim.STROKE / 2),
            armature=0.1,
            damping=5,
        )
        _box(finger, f"{side}_finger", (sign * 0.013, 0, 0.09), (0.005, half_width, 0.045), GREY, 0.1)
        pad = _box(
            finger,
            f"{side}_pad",
            (sign * 0.004, 0, tip - 0.025),
            (0.004, half_width, 0.025),
            (0.08, 0.08, 0.08, 1),
            0.02,
        )
        pad.condim, pad.friction, pad.priority = 4, PAD_FRICTION, 1
        pad.solref = [0.004, 1]
    coupling = spec.add_equality(name="fingers", type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT)
    coupling.name1, coupling.name2 = "left_finger_joint", "right_finger_joint"
    coupling.data = np.array([0.0, 1.0] + [0.0] * 10)
    coupling.solref = [0.005, 1]
    tendon = spec.add_tendon(name="grip")
    tendon.wrap_joint("left_finger_joint", 0.5)
    tendon.wrap_joint("right_finger_joint", 0.5)
    actuator = spec.add_actuator(name="grip", target="grip", trntype=mujoco.mjtTrn.mjTRN_TENDON)
    actuator.set_to_position(kp=4000, kv=150)
    actuator.forcelimited, actuator.forcerange = True, [-80, 80]
    flange.add_site(name="gripper_tip", pos=(0, 0, tip), size=[0.003, 0, 0], group=5)


def _add_cameras(base: Any, flange: Any) -> None:
    """MuJoCo cameras look along their -z with +y up; both are given as rotation matrices."""
    c, s = math.cos(dim.MAST_PITCH), math.sin(dim.MAST_PITCH)
    forward, right = np.array([c, 0, -s]), np.array([0, -1.0, 0])
    base.add_camera(name="front", pos=dim.MAST, quat=_camera_quat(forward, right), fovy=dim.FRONT_FOVY_DEG)
    c, s = math.cos(dim.ARM_CAMERA_TILT), math.sin(dim.ARM_CAMERA_TILT)
    forward, right = np.array([0, s, c]), np.array([1.0, 0, 0])
    flange.add_camera(name="arm", pos=dim.ARM_CAMERA, quat=_camera_quat(forward, right), fovy=dim.ARM_FOVY_DEG)
    x, y, z = dim.ARM_CAMERA
    _box(flange, "arm_camera_body", (x, y, z - 0.014), (0.045, 0.012, 0.012), DARK, 0.07)
    base.add_site(name="laser", pos=(0, 0, dim.LASER_HEIGHT), size=[0.003, 0, 0], group=5)


def _camera_quat(forward: np.ndarray, right: np.ndarray) -> list[float]:
    matrix = np.column_stack([right, np.cross(right, forward), -forward])
    result = np.zeros(4)
    mujoco.mju_mat2Quat(result, matrix.flatten())
    return result.tolist()
