"""The Panda for planners and controllers: kinematics of any pose of its hand, and its gripper.

Poses are those in the frame of its foot; `ArmModel.moved` says where that stands in a robot's base frame.

Seven joints reach a pose in infinitely many ways. With the last joint given, the rest follows in closed form: the wrist
is known, its distance from the shoulder gives the elbow, the sixth axis two directions of the forearm, and each of them
two turns of the shoulder. The last joint is tried over its range, as in He and Liu, "Analytical Inverse Kinematics for
Franka Emika Panda" (2021); the derivation here is from the frames in robot/panda.py.
"""

from __future__ import annotations

import math

import numpy as np

from quartet_simulation.arm.model import ArmModel, GripperModel
from quartet_simulation.robot import panda

TIP_M = panda.TCP + panda.TIP
LAST_JOINTS = np.linspace(panda.LOWER[6], panda.UPPER[6], 48)
"""Positions of the last joint that are tried [rad]."""
POINTS_DOWN = 0.9999
_L1, _L2 = math.hypot(panda.D3, panda.A4), math.hypot(panda.D5, panda.A4)
_LEANS = math.atan2(panda.A4, panda.D3) + math.atan2(panda.A4, panda.D5)


def _about_z(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0, 0.0], [s, c, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])


def _frame(position: tuple[float, float, float], quaternion: tuple[float, float, float, float]) -> np.ndarray:
    """Return the pose of a frame whose turn is about x alone; quaternion (w, x, 0, 0)."""
    w, x = quaternion[:2]
    c, s = w * w - x * x, 2 * w * x
    return np.array(
        [[1.0, 0.0, 0.0, position[0]], [0.0, c, -s, position[1]], [0.0, s, c, position[2]], [0.0, 0.0, 0.0, 1.0]]
    )


_FRAMES = [_frame(*frame) for frame in panda.FRAMES]
_FLANGE = _about_z(panda.TOOL_TURN)
_FLANGE[2, 3] = panda.FLANGE
_FROM_TOOL = np.linalg.inv(_FLANGE)
_FROM_LAST = np.linalg.inv(_FRAMES[6])
_DOWN, _UP = _FRAMES[1][:3, :3], _FRAMES[2][:3, :3]


def forward(joints: np.ndarray) -> np.ndarray:
    """Return the pose of panda_tool0 in panda_link0, 4x4."""
    pose = np.eye(4)
    for frame, angle in zip(_FRAMES, joints, strict=True):
        pose = pose @ frame @ _about_z(float(angle))
    return pose @ _FLANGE


def inverse(pose: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return joint solutions (N, 7) within the limits for panda_tool0 at `pose` in panda_link0.

    `near`: joints whose last one is tried beside the fixed positions, so that a motion may leave it as it is.
    """
    last = pose @ _FROM_TOOL
    tried = [float(near[6]), *LAST_JOINTS]
    if pose[2, 2] < -POINTS_DOWN:
        # Then the arm can stay in the upright plane through its foot, which leaves every joint the most room.
        tried.append(_wrapped(math.atan2(last[1, 3], last[0, 3]) - math.atan2(last[1, 0], last[0, 0])))
    found = [joints for angle in tried for joints in _with_last(last, angle)]
    return np.array(found) if found else np.empty((0, 7))


def _with_last(last: np.ndarray, angle: float) -> list[list[float]]:
    """Return solutions for the pose of the last link in the foot with its joint at an angle."""
    sixth = last @ _about_z(-angle) @ _FROM_LAST
    wrist = sixth[:3, 3]
    away = wrist - np.array([0.0, 0.0, panda.D1])
    distance = float(np.linalg.norm(away))
    if not abs(_L1 - _L2) < distance < _L1 + _L2:
        return []
    elbow = math.acos((_L1**2 + _L2**2 - distance**2) / (2 * _L1 * _L2))
    bends = [_wrapped(elbow - math.pi - _LEANS), _wrapped(math.pi - elbow - _LEANS)]
    return [
        [*joints, angle]
        for q4 in bends
        if panda.LOWER[3] <= q4 <= panda.UPPER[3]
        for joints in _with_elbow(sixth, away / distance, distance, q4)
        if all(low <= q <= high for low, q, high in zip(panda.LOWER, (*joints, angle), panda.UPPER, strict=True))
    ]


def _with_elbow(sixth: np.ndarray, unit: np.ndarray, distance: float, q4: float) -> list[list[float]]:
    """Return the first six joints for a pose of the sixth link, whose wrist is at `distance` along `unit`."""
    # The shoulder in the frame of the elbow's joint, and the forearm's axis against the line to the wrist.
    c, s = math.cos(q4), math.sin(q4)
    shoulder = np.array([-panda.A4 * c - panda.D3 * s, panda.A4 * s - panda.D3 * c, 0.0])
    line = (np.array([-panda.A4, panda.D5, 0.0]) - shoulder) / distance
    axis = sixth[:3, 2]
    first = np.cross(axis, unit)
    length = float(np.linalg.norm(first))
    if length < 1e-9 or abs(line[0]) < 1e-9 or abs(line[1]) > length:
        return []
    first /= length
    second = np.cross(first, axis)
    lean = math.acos(float(line[1]) / length)
    found: list[list[float]] = []
    for sign in (1, -1):
        forearm = math.cos(lean) * second + sign * math.sin(lean) * first
        normal = np.cross(unit, forearm) / line[0]
        fourth = np.column_stack([np.cross(forearm, normal), forearm, normal])
        wrists = fourth.T @ sixth[:3, :3]
        q5, q6 = math.atan2(wrists[0, 2], wrists[2, 2]), math.atan2(wrists[1, 0], wrists[1, 1])
        third = fourth @ _about_z(-q4)[:3, :3] @ _UP.T
        tilt = math.acos(max(-1.0, min(1.0, float(third[2, 2]))))
        for q2 in (tilt, -tilt):
            # At q2 = 0 the first and the third joint turn about one axis.
            q1 = 0.0 if abs(q2) < 1e-9 else math.atan2(third[1, 2] * q2, third[0, 2] * q2)
            c1, s1, c2, s2 = math.cos(q1), math.sin(q1), math.cos(q2), math.sin(q2)
            x = np.array([c1 * c2, s1 * c2, -s2])
            y = np.array([-s1, c1, 0.0])
            q3 = math.atan2(float(y @ third[:, 0]), float(x @ third[:, 0]))
            found.append([q1, q2, q3, q4, q5, q6 + 2 * math.pi if q6 < panda.LOWER[5] else q6])
    return found


def _wrapped(angle: float) -> float:
    return math.remainder(angle, 2 * math.pi)


PANDA = ArmModel(
    robot="panda",
    group="panda_arm",
    base="base_footprint",
    mount=panda.MOUNT,
    joints=panda.JOINTS,
    links=panda.LINKS,
    tool=panda.TOOL,
    tip="panda_hand_tcp",
    tip_m=TIP_M,
    fingers=("left_finger", "right_finger"),
    palm=(panda.HAND,),
    lower=panda.LOWER,
    upper=panda.UPPER,
    speed=panda.SPEED,
    acceleration=(5.0,) * 7,
    weights=(1.5, 1.5, 1.2, 1.0, 0.6, 0.6, 0.4),
    forward=forward,
    inverse=inverse,
    bend=(0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.1),
)
PANDA_HAND = GripperModel(
    action="/panda_hand_controller/gripper_cmd",
    node="/panda_hand_controller",
    driver="/panda_hand",
    joint="panda_finger_joint1",
    stroke=2 * panda.FINGER_TRAVEL,
    open_position=panda.FINGER_TRAVEL,
    closed_position=0.0,
    speed=0.1,
    force=20.0,
    most_force=70.0,
    finger_joints=("left_finger", "right_finger"),
    opens=True,
    pad_half=0.0115,
    depth=0.03,
)
