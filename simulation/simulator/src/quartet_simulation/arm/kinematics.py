"""Kinematics of the UR5: forward by its DH parameters, inverse in closed form (all branches).

Source: K. P. Hawkins, "Analytic Inverse Kinematics for the Universal Robots UR-5/UR-10 Arms" (2013).
The DH base frame is the arm's mounting point with the axes of base_footprint, because the arm's own base is turned
by pi against it and so is the mount.
"""

from __future__ import annotations

import math

import numpy as np

from quartet_simulation.robot import dimensions as dim

D1, A2, A3 = dim.UR5_D1, -dim.UR5_A2, -dim.UR5_A3
D4 = dim.SHOULDER_OFFSET - dim.ELBOW_OFFSET + dim.WRIST_OFFSET
D5, D6 = dim.UR5_D5, dim.UR5_D6
DH = (
    (D1, 0.0, math.pi / 2),
    (0.0, A2, 0.0),
    (0.0, A3, 0.0),
    (D4, 0.0, math.pi / 2),
    (D5, 0.0, -math.pi / 2),
    (D6, 0.0, 0.0),
)
"""d, a, alpha of each joint."""


def pose_matrix(
    position: list[float] | tuple[float, ...], quaternion_xyzw: list[float] | tuple[float, ...]
) -> np.ndarray:
    """4x4 pose from a position [m] and a quaternion (x, y, z, w), which is normalised. Raises ValueError if it is 0."""
    x, y, z, w = (float(v) for v in quaternion_xyzw)
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    if not norm > 1e-9 or not math.isfinite(norm):
        raise ValueError(f"quaternion {list(quaternion_xyzw)} has no direction; give x, y, z, w of norm 1")
    x, y, z, w = x / norm, y / norm, z / norm, w / norm
    pose = np.eye(4)
    pose[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    pose[:3, 3] = [float(v) for v in position]
    return pose


def _link(i: int, q: float) -> np.ndarray:
    d, a, alpha = DH[i]
    c, s, ca, sa = math.cos(q), math.sin(q), math.cos(alpha), math.sin(alpha)
    return np.array([[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1.0]])


def _mount() -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = dim.ARM_MOUNT
    return pose


MOUNT = _mount()
MOUNT_INVERSE = np.linalg.inv(MOUNT)


def forward(q: np.ndarray) -> np.ndarray:
    """arm_tool0 in base_footprint, 4x4."""
    pose = MOUNT
    for i in range(6):
        pose = pose @ _link(i, float(q[i]))
    return pose


def inverse(pose: np.ndarray) -> np.ndarray:
    """All joint solutions (N, 6), N <= 8, in (-pi, pi], for arm_tool0 at `pose` in base_footprint."""
    t06 = MOUNT_INVERSE @ pose
    found: list[list[float]] = []
    p05 = t06 @ np.array([0, 0, -D6, 1.0])
    radius = math.hypot(p05[0], p05[1])
    if radius < abs(D4):
        return np.empty((0, 6))
    psi, phi = math.atan2(p05[1], p05[0]), math.acos(D4 / radius)
    t60 = np.linalg.inv(t06)
    for q1 in (psi + phi + math.pi / 2, psi - phi + math.pi / 2):
        s1, c1 = math.sin(q1), math.cos(q1)
        cosine = (t06[0, 3] * s1 - t06[1, 3] * c1 - D4) / D6
        if abs(cosine) > 1 + 1e-9:
            continue
        for sign5 in (1, -1):
            q5 = sign5 * math.acos(max(-1.0, min(1.0, cosine)))
            s5 = math.sin(q5)
            if abs(s5) < 1e-6:
                q6 = 0.0
            else:
                q6 = math.atan2((-t60[1, 0] * s1 + t60[1, 1] * c1) / s5, (t60[0, 0] * s1 - t60[0, 1] * c1) / s5)
            t14 = np.linalg.inv(_link(0, q1)) @ t06 @ np.linalg.inv(_link(4, q5) @ _link(5, q6))
            p13 = t14 @ np.array([0, -D4, 0, 1.0])
            reach = math.hypot(p13[0], p13[1])
            c3 = (reach**2 - A2**2 - A3**2) / (2 * A2 * A3)
            if abs(c3) > 1 + 1e-9:
                continue
            for sign3 in (1, -1):
                q3 = sign3 * math.acos(max(-1.0, min(1.0, c3)))
                ratio = max(-1.0, min(1.0, A3 * math.sin(q3) / reach))
                q2 = -math.atan2(p13[1], -p13[0]) + math.asin(ratio)
                t34 = np.linalg.inv(_link(1, q2) @ _link(2, q3)) @ t14
                q4 = math.atan2(t34[1, 0], t34[0, 0])
                found.append([q1, q2, q3, q4, q5, q6])
    if not found:
        return np.empty((0, 6))
    solutions = np.arctan2(np.sin(found), np.cos(found))
    good = [q for q in solutions if np.abs(forward(q) - pose).max() < 1e-5]
    return np.array(good) if good else np.empty((0, 6))
