"""The robot as MuJoCo bodies: planar base, arm with gripper, cameras."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from quartet_simulation.mobile.build import RobotBuild
from quartet_simulation.names import prefix_of
from quartet_simulation.robot.parts import DARK, GREY, GROUP, HIDDEN, LIGHT, box, capsule, quaternion


def add_robots(spec: mujoco.MjSpec, builds: Sequence[RobotBuild]) -> None:
    """Add a robot of each build at the origin of `spec`; the parts of robot n are named with `prefix_of(n)`."""
    add_robot(spec, builds[0])
    for number, build in enumerate(builds[1:], 1):
        one = mujoco.MjSpec()
        one.compiler.degree = False
        add_robot(one, build)
        spec.attach(one, prefix=prefix_of(number), frame=spec.worldbody.add_frame())


def add_robot(spec: mujoco.MjSpec, build: RobotBuild) -> None:
    """Add the robot at the origin of `spec`; its planar joints are base_x, base_y (map) and base_yaw."""
    base = spec.worldbody.add_body(name="base_footprint")
    for name, kind, axis, friction in (
        ("base_x", mujoco.mjtJoint.mjJNT_SLIDE, (1, 0, 0), 100),
        ("base_y", mujoco.mjtJoint.mjJNT_SLIDE, (0, 1, 0), 100),
        ("base_yaw", mujoco.mjtJoint.mjJNT_HINGE, (0, 0, 1), 30),
    ):
        base.add_joint(name=name, type=kind, axis=axis, frictionloss=friction, armature=1.0)
    # Stiff, as drives are that control the speed of their wheels: the friction above costs 5 mm/s, where 25 mm/s had
    # bases miss what their controllers foresaw and touch door posts.
    for name, kv, limit in (("base_x", 20000, 900), ("base_y", 20000, 900), ("base_yaw", 7500, 300)):
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.set_to_velocity(kv=kv)
        actuator.forcelimited, actuator.forcerange = True, [-limit, limit]
    _add_body(base, build)
    build.kind.add(spec, base, build.mount, build.mount_yaw)
    _add_cameras(base, spec.body(build.arm.tool), build)
    for one, other in build.kind.apart:
        spec.add_exclude(bodyname1=one, bodyname2=other)


def _add_body(base: Any, build: RobotBuild) -> None:
    body = build.base
    half_length, half_width, middle = body.length / 2, body.width / 2, (body.clearance + body.height) / 2
    half_height = (body.height - body.clearance) / 2
    dark, light = (HIDDEN, HIDDEN) if build.brings_base else (DARK, LIGHT)
    box(base, "body", (0, 0, middle), (half_length, half_width, half_height), dark, mass=body.mass)
    box(base, "body_top", (0, 0, body.height + 0.005), (half_length - 0.03, half_width - 0.03, 0.005), light)
    x, y, z = build.mount
    half = (z - body.height) / 2
    if half > 0:
        # Under the foot of the arm, and no farther back than the body reaches.
        box(base, "pedestal", (x - 0.03, y, body.height + half), (0.09, 0.09, half), GREY, 5)
    rows = (0.0,) if body.differential else (body.wheel_base / 2, -body.wheel_base / 2)
    places = [(x, sign * body.wheel_track / 2) for x in rows for sign in (1, -1)]
    for i, (x, y) in enumerate(places):
        base.add_geom(
            name=f"wheel_{i}",
            type=mujoco.mjtGeom.mjGEOM_CYLINDER,
            pos=(x, y, body.wheel_radius),
            size=[body.wheel_radius, 0.045, 0],
            quat=quaternion((1, 0, 0), math.pi / 2),
            rgba=(0.05, 0.05, 0.05, 1),
            mass=0,
            group=GROUP,
            contype=0,
            conaffinity=0,
        )
    x, y, z = build.front_camera.position
    capsule(base, "mast", (x - 0.05, y, body.height + 0.01), (x - 0.05, y, z - 0.03), 0.018, GREY, 1)
    box(base, "front_camera_body", (x - 0.03, y, z), (0.02, 0.06, 0.02), DARK, 0.3)


def _add_cameras(base: Any, flange: Any, build: RobotBuild) -> None:
    """MuJoCo cameras look along their -z with +y up; both are given as rotation matrices."""
    front, arm = build.front_camera, build.arm_camera
    c, s = math.cos(front.tilt), math.sin(front.tilt)
    forward, right = np.array([c, 0, -s]), np.array([0, -1.0, 0])
    base.add_camera(name="front", pos=front.position, quat=_camera_quat(forward, right), fovy=front.fovy)
    c, s = math.cos(arm.tilt), math.sin(arm.tilt)
    forward, right = np.array([0, s, c]), np.array([1.0, 0, 0])
    flange.add_camera(name="arm", pos=arm.position, quat=_camera_quat(forward, right), fovy=arm.fovy)
    x, y, z = arm.position
    box(flange, "arm_camera_body", (x, y, z - 0.014), (0.045, 0.012, 0.012), DARK, 0.07)
    base.add_site(name="laser", pos=(0, 0, build.laser_height), size=[0.003, 0, 0], group=5)


def _camera_quat(forward: np.ndarray, right: np.ndarray) -> list[float]:
    matrix = np.column_stack([right, np.cross(right, forward), -forward])
    result = np.zeros(4)
    mujoco.mju_mat2Quat(result, matrix.flatten())
    return result.tolist()
