"""Inverse kinematics of one arm with its rail: damped least squares on MuJoCo's Jacobians.

The restarts are drawn from one seed, so that equal states and poses have equal solutions.
"""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np

from quartet_simulation.table_arms.poses import HandPose
from quartet_simulation.table_arms.scene import Arm, Scene

TOLERANCE = 1e-4
"""Of a solution [m, rad]."""
ITERATIONS = 80
RESTARTS = 40
LIMIT_SLACK = 0.03
"""Distance that solutions keep from joint limits [rad, m]."""
DAMPING = 1e-3
MOST_STEP = 0.4
"""Change of a joint in one iteration [rad, m]."""
SPREAD = 0.5
"""How far the first restarts are from where the arm is [rad, m]."""
LINE_STEP_M, LINE_STEP_RAD = 0.01, 0.04
"""Distances between two points of a straight line of the tip."""
MOST_JUMP = 0.3
"""Change of a joint between two points of a line, above which the arm would flip over [rad, m]."""
SAME = 0.05
"""Solutions whose joints differ by less are one [rad, m]."""


class Kinematics:
    """Poses of hands at joint positions, on a state of its own."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._data = mujoco.MjData(scene.model)
        self._data.qpos[:] = scene.data.qpos
        self._jacobian = np.zeros((6, scene.model.nv))

    def solutions(self, arm: Arm, pose: HandPose, near: np.ndarray, restarts: int = RESTARTS) -> Iterator[np.ndarray]:
        """Yield different joint positions of an arm that bring its tip to a pose.

        Args:
            arm: the arm.
            pose: of its tip.
            near: where the search starts first (J,): the arm's present joints.
            restarts: starts of the search.
        """
        rng = np.random.default_rng(0)
        lower, upper = arm.lower + LIMIT_SLACK, arm.upper - LIMIT_SLACK
        home = self._scene.home[arm.columns].copy()
        rails = len(arm.joints) - len(arm.kind.joints)
        if rails:
            home[0] = near[0]
        found: list[np.ndarray] = []
        for attempt in range(restarts):
            if attempt == 0:
                start = near
            elif attempt % 4 == 1:
                start = home + rng.uniform(-0.2, 0.2, len(home))
            elif attempt < restarts // 2:
                start = near + rng.uniform(-SPREAD, SPREAD, len(near))
            else:
                start = rng.uniform(np.maximum(lower, -np.pi), np.minimum(upper, np.pi))
            if rails and attempt % 2:
                start[0] = near[0] + rng.uniform(-SPREAD, SPREAD)
            joints = self._descend(arm, pose, np.clip(start, lower, upper), lower, upper)
            if joints is None:
                continue
            joints = _nearest_turns(joints, near, lower, upper)
            if all(float(np.abs(joints - other).max()) > SAME for other in found):
                found.append(joints)
                yield joints

    def line(self, arm: Arm, start: np.ndarray, pose: HandPose) -> np.ndarray | None:
        """Return joints (N, J) whose tip goes from `start` straight to a pose and turns evenly; None: out of reach."""
        data, lower, upper = self._data, arm.lower, arm.upper
        data.qpos[self._scene.qpos[arm.columns]] = start
        mujoco.mj_kinematics(self._scene.model, data)
        first, matrix = data.site_xpos[arm.tip].copy(), data.site_xmat[arm.tip].reshape(3, 3).copy()
        away, turn = np.array(pose.position) - first, _turn(matrix, pose.rotation)
        steps = max(1, int(np.ceil(max(np.linalg.norm(away) / LINE_STEP_M, np.linalg.norm(turn) / LINE_STEP_RAD))))
        points = [start]
        for share in np.linspace(0, 1, steps + 1)[1:]:
            quaternion, rotated = np.zeros(4), np.zeros(9)
            angle = float(np.linalg.norm(turn))
            mujoco.mju_axisAngle2Quat(quaternion, turn / max(angle, 1e-9), share * angle)
            mujoco.mju_quat2Mat(rotated, quaternion)
            mujoco.mju_mat2Quat(quaternion, (rotated.reshape(3, 3) @ matrix).flatten())
            x, y, z = first + share * away
            w, a, b, c = quaternion
            between = HandPose((x, y, z), (w, a, b, c), pose.any_turn)
            joints = self._descend(arm, between, points[-1], lower, upper)
            if joints is None or float(np.abs(joints - points[-1]).max()) > MOST_JUMP:
                return None
            points.append(joints)
        return np.array(points)

    def _descend(
        self, arm: Arm, pose: HandPose, joints: np.ndarray, lower: np.ndarray, upper: np.ndarray
    ) -> np.ndarray | None:
        model, data = self._scene.model, self._data
        position, rotation = np.array(pose.position), pose.rotation
        columns = self._scene.dofs[arm.columns]
        jacobian = self._jacobian
        for _ in range(ITERATIONS):
            data.qpos[self._scene.qpos[arm.columns]] = joints
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            site = data.site_xmat[arm.tip].reshape(3, 3)
            error = np.concatenate([position - data.site_xpos[arm.tip], _turn(site, rotation)])
            mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], arm.tip)
            own = jacobian[:, columns]
            if pose.any_turn:
                axis = site[:, 2]
                error[3:] = np.cross(axis, rotation[:, 2])
                if axis @ rotation[:, 2] < 0:
                    error[3:] /= max(float(np.linalg.norm(error[3:])), 1e-9)
                own = own.copy()
                own[3:] -= np.outer(axis, axis @ own[3:])
            if float(np.abs(error).max()) < TOLERANCE:
                return joints
            step = own.T @ np.linalg.solve(own @ own.T + DAMPING * np.eye(6), error)
            step *= min(1.0, MOST_STEP / max(float(np.abs(step).max()), 1e-9))
            joints = np.clip(joints + step, lower, upper)
        return None


def _turn(present: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the rotation vector that turns one matrix into another, in the world."""
    quaternion, vector = np.zeros(4), np.zeros(3)
    mujoco.mju_mat2Quat(quaternion, (wanted @ present.T).flatten())
    mujoco.mju_quat2Vel(vector, quaternion, 1.0)
    return vector


def _nearest_turns(joints: np.ndarray, near: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return joints with whole turns added, so that each is nearest to `near` within the limits."""
    moved = joints + 2 * np.pi * np.round((near - joints) / (2 * np.pi))
    return np.where((moved >= lower) & (moved <= upper), moved, joints)
