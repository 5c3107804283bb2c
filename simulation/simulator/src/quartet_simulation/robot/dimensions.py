"""Numbers of the robot that the model, the planner and the controllers share [m, rad].

Arm: Denavit-Hartenberg parameters of the UR5 as published by Universal Robots ("DH parameters for calculations of
kinematics and dynamics"). Base: outer size of the Robotnik Summit XL. Gripper: stroke of the Robotiq 2F-140.
"""

import math

BASE_LENGTH, BASE_WIDTH = 0.72, 0.61
ARM_MOUNT = (0.27, 0.0, 0.72)
"""Arm base in base_footprint; it is turned by pi about z, so that the folded arm lies over the body."""
ARM_MOUNT_YAW = math.pi

ARM_JOINTS = (
    "arm_shoulder_pan_joint",
    "arm_shoulder_lift_joint",
    "arm_elbow_joint",
    "arm_wrist_1_joint",
    "arm_wrist_2_joint",
    "arm_wrist_3_joint",
)
ARM_LINKS = (
    "arm_shoulder_link",
    "arm_upper_arm_link",
    "arm_forearm_link",
    "arm_wrist_1_link",
    "arm_wrist_2_link",
    "arm_wrist_3_link",
)
JOINT_NOISE = 0.0002
"""Standard deviation of a joint's measured position [rad]."""
JOINT_LIMIT = 2 * math.pi
ELBOW_LIMIT = math.pi
JOINT_LOWER = (-JOINT_LIMIT, -JOINT_LIMIT, -ELBOW_LIMIT, -JOINT_LIMIT, -JOINT_LIMIT, -JOINT_LIMIT)
JOINT_UPPER = (JOINT_LIMIT, JOINT_LIMIT, ELBOW_LIMIT, JOINT_LIMIT, JOINT_LIMIT, JOINT_LIMIT)
JOINT_SPEED = (2.0, 2.0, 2.6, 3.0, 3.0, 3.0)
"""Speed limits at full scale [rad/s]; the UR5 itself allows 3.14."""
JOINT_ACCELERATION = (4.0, 4.0, 5.0, 8.0, 8.0, 8.0)

UR5_D1, UR5_A2, UR5_A3, UR5_D5, UR5_D6 = 0.089159, 0.425, 0.39225, 0.09465, 0.0823
SHOULDER_OFFSET, ELBOW_OFFSET, WRIST_OFFSET = 0.13585, 0.1197, 0.093
"""d4 = 0.10915 of the UR5, split over the shoulder, the elbow and the first wrist as in its public description."""

PICK_STANDOFF = 0.80
"""From base_footprint to what is picked up."""
LOOK_FORWARD = (-0.0001, -0.2429, -2.8291, -0.7983, 1.5622, 0.0)

STROKE = 0.14
FINGER_OFFSET = 0.14
CLOSED_POSITION = 0.7
"""GripperCommand position at which the fingers touch."""
FINGER_WIDTH = 0.027
GRIPPER_SPEED = 0.20
"""Rate of change of the opening [m/s]."""

MAST = (0.05, 0.24, 1.38)
"""Front camera in base_footprint."""
MAST_PITCH = 0.60
"""The front camera looks this far below the horizon [rad]."""
FRONT_FOVY_DEG = 62.0
ARM_CAMERA = (0.0, -0.075, 0.015)
"""Wrist camera in arm_tool0."""
ARM_CAMERA_TILT = 0.14
"""The wrist camera leans towards the fingers by this angle [rad]."""
ARM_FOVY_DEG = 60.0
IMAGE_WIDTH, IMAGE_HEIGHT = 640, 480
LASER_HEIGHT = 0.28
LASER_RANGE = (0.10, 12.0)
