"""The arm of the UR5's public description with a parallel gripper as MuJoCo bodies."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np

from quartet_simulation.robot import dimensions as dim
from quartet_simulation.robot.parts import BLUE, DARK, GREY, GROUP, LIGHT, box, capsule, quaternion
from quartet_simulation.solver import PAD_FRICTION, PAD_SOLIMP, PAD_SOLREF


def add_ur5(spec: mujoco.MjSpec, base: Any, pos: tuple[float, float, float], yaw: float) -> None:
    """Add arm and gripper to the body `base`, see add_arm."""
    add_gripper(spec, add_arm(spec, base, pos, yaw))


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
        capsule(body, dim.ARM_LINKS[i], start, end, radius, LIGHT if i in (1, 2) else BLUE, mass)
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
    box(flange, "palm", (0, 0, 0.025), (0.055, 0.032, 0.025), DARK, 0.5)
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
        box(finger, f"{side}_finger", (sign * 0.013, 0, 0.09), (0.005, half_width, 0.045), GREY, 0.1)
        pad = box(
            finger,
            f"{side}_pad",
            (sign * 0.004, 0, tip - 0.025),
            (0.004, half_width, 0.025),
            (0.08, 0.08, 0.08, 1),
            0.02,
        )
        pad.condim, pad.friction, pad.priority = 4, PAD_FRICTION, 1
        pad.solref, pad.solimp[:3] = PAD_SOLREF, PAD_SOLIMP
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
