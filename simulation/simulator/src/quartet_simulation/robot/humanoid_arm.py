"""A humanoid arm of our own as MuJoCo bodies: seven joints on a fixed torso.

The humanoid of the RoCo paper has 20 degrees of freedom, two arms and a waist among them. Its task uses one hand, so
this arm has the three joints of a shoulder, an elbow and the three of a wrist. Upper arm and forearm are a fifth longer
than a person's, and the wrist bends further, so that the hand points down anywhere on a table 0.8 m deep. Speeds and
torques are those of a light robot arm. All shapes are primitives.
"""

import math
from typing import Any

import mujoco

from quartet_simulation.robot.parts import DARK, GREY, GROUP, LIGHT, box, capsule, quaternion

SHOULDER = (0.12, 0.0, 0.45)
"""Of the shoulder's centre over the foot; x points forwards [m]."""
UPPER_ARM, FOREARM, HAND = 0.36, 0.34, 0.08
"""From shoulder to elbow, elbow to wrist, wrist to flange [m]."""
JOINTS = ("shoulder_pitch", "shoulder_roll", "upper_arm_yaw", "elbow", "forearm_yaw", "wrist_pitch", "wrist_roll")
"""All are 0 when the arm hangs straight down; pitch and elbow raise what follows them forwards."""
LOWER = (-1.2, -1.6, -2.6, 0.05, -2.6, -2.6, -3.0)
UPPER = (3.0, 1.6, 2.6, 2.6, 2.6, 2.6, 3.0)
SPEED = (2.2, 2.2, 2.5, 2.5, 3.0, 3.0, 3.0)
"""Greatest speeds of the joints [rad/s]."""
FLANGE = "flange"
_FORWARDS, _SIDEWAYS, _ALONG = (0, -1, 0), (1, 0, 0), (0, 0, 1)
_CHAIN = (
    (SHOULDER, _FORWARDS, ((0, -0.04, 0), (0, 0.04, 0), 0.06), 2.5, LIGHT),
    ((0, 0, 0), _SIDEWAYS, ((0, 0, -0.02), (0, 0, -0.08), 0.055), 1.5, GREY),
    ((0, 0, 0), _ALONG, ((0, 0, -0.12), (0, 0, -UPPER_ARM), 0.05), 2.2, LIGHT),
    ((0, 0, -UPPER_ARM), _FORWARDS, ((0, 0, 0), (0, 0, -0.12), 0.045), 1.2, GREY),
    ((0, 0, 0), _ALONG, ((0, 0, -0.16), (0, 0, -FOREARM + 0.04), 0.04), 1.2, LIGHT),
    ((0, 0, -FOREARM), _FORWARDS, ((0, -0.02, 0), (0, 0.02, 0), 0.04), 0.5, GREY),
    ((0, 0, 0), _ALONG, ((0, 0, -0.03), (0, 0, -HAND + 0.02), 0.032), 0.4, DARK),
)
"""Of each joint: its place in the one before [m], axis, capsule (from, to, radius), mass [kg] and colour."""
_GAINS = (4000, 4000, 2000, 3000, 1500, 1500, 1500)
_TORQUE = (120, 120, 60, 80, 30, 30, 30)


def add_arm(spec: mujoco.MjSpec, base: Any, pos: tuple[float, float, float], yaw: float) -> Any:
    """Add torso, arm and the actuators JOINTS to the body `base`; return the flange, whose z axis points outwards.

    Args:
        spec: specification that gets the actuators.
        base: body that the torso stands on.
        pos: place of its foot in the frame of `base` [m].
        yaw: its turn about the z axis of `base` [rad]; at 0 it faces along x.
    """
    body = base.add_body(name="torso", pos=pos, quat=quaternion((0, 0, 1), yaw))
    x, _, height = SHOULDER
    capsule(body, "torso", (-0.02, 0, 0.12), (x - 0.06, 0, height - 0.02), 0.09, LIGHT, 12.0)
    box(body, "pelvis", (-0.02, 0, 0.05), (0.10, 0.13, 0.05), DARK, 8.0)
    capsule(body, "neck", (x - 0.06, 0, height), (x - 0.06, 0, height + 0.16), 0.035, GREY, 0.5)
    body.add_geom(
        name="head",
        type=mujoco.mjtGeom.mjGEOM_SPHERE,
        pos=(x - 0.06, 0, height + 0.22),
        size=[0.08, 0, 0],
        rgba=GREY,
        mass=2.0,
        group=GROUP,
    )
    for number, (place, axis, (start, end, radius), mass, colour) in enumerate(_CHAIN):
        name = JOINTS[number]
        body = body.add_body(name=name, pos=place, gravcomp=1)
        body.add_joint(
            name=name, axis=axis, range=(LOWER[number], UPPER[number]), limited=True, armature=0.1, damping=1.0
        )
        capsule(body, name, start, end, radius, colour, mass)
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.set_to_position(kp=_GAINS[number], kv=_GAINS[number] / 10)
        actuator.forcelimited, actuator.forcerange = True, [-_TORQUE[number], _TORQUE[number]]
    return body.add_body(name=FLANGE, pos=(0, 0, -HAND), quat=quaternion((1, 0, 0), math.pi), gravcomp=1)
