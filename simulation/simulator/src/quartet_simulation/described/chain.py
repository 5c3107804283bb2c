"""Kinematics of any serial chain of hinges and slides, forward and inverse by damped least squares.

The damping follows the error, as in T. Sugihara, "Solvability-Unconcerned Inverse Kinematics by the
Levenberg-Marquardt Method", IEEE Transactions on Robotics 27 (2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from quartet_simulation.described.structure import pose_of

TOLERANCE = 1e-6
"""A pose is reached within this [m, rad]."""
ITERATIONS = 60
PATIENCE = 12
"""A search ends that has not halved its error in so many iterations."""
MOST_STEP = 0.4
"""Of a joint in one iteration [rad, m]."""
FLOOR = 1e-9
"""Damping that is left at the goal."""
SEEDS = 24
"""Joint positions from which the search starts, beside those that are given."""
TURN = 2 * np.pi
"""Range of a joint that the model does not limit, in both directions [rad]."""


@dataclass(frozen=True)
class Chain:
    """A serial chain of J joints, from the frame that it stands in to its tool. Units: m, rad.

    frames (J, 4, 4): each link in the one before, with its joint at `references` (J,). axes (J, 3) and anchors (J, 3)
    of the joints in their links; slides (J,): which of them slide. tool (4, 4): in the last link. lower, upper (J,).
    starts (N, J): joint positions to search from, such as those that the arm is often in.
    """

    frames: np.ndarray
    axes: np.ndarray
    anchors: np.ndarray
    slides: np.ndarray
    references: np.ndarray
    tool: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    starts: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    def forward(self, joints: np.ndarray) -> np.ndarray:
        """Return the pose of the tool at joints (J,), 4x4."""
        return self.poses(np.asarray(joints, dtype=float)[None])[0][0]

    def inverse(self, pose: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Return joint solutions (N, J) within the limits for the tool at `pose`.

        The search starts at `near` and at positions that are the same for each pose, so that it is repeatable.
        """
        return self._search(pose, np.vstack([near[None], self._starts]))

    def follow(self, pose: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Return the solution (1, J) that continues from `near`, or none, (0, J)."""
        return self._search(pose, near[None])

    @cached_property
    def range(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper limits (J,), with one turn of hinges that turn further."""
        low, high = np.maximum(self.lower, -np.pi), np.minimum(self.upper, np.pi)
        # Where slides are longer than a turn their own limits count.
        return np.where(self.slides, self.lower, low), np.where(self.slides, self.upper, high)

    @cached_property
    def _starts(self) -> np.ndarray:
        low, high = self.range
        drawn = np.random.default_rng(0).uniform(low, high, (SEEDS, len(low)))
        given = self.starts.reshape(-1, len(low))
        return np.vstack([given, ((low + high) / 2)[None], drawn])

    def _search(self, pose: np.ndarray, joints: np.ndarray) -> np.ndarray:
        joints = np.clip(joints, self.lower, self.upper)
        best = np.full(len(joints), np.inf)
        since = np.zeros(len(joints), dtype=int)
        found: list[np.ndarray] = []
        for _ in range(ITERATIONS):
            reached, jacobian = self.poses(joints)
            error = _between(reached, pose)
            size = np.abs(error).max(axis=1)
            done = size < TOLERANCE
            found.extend(joints[done])
            better = size < best / 2
            best, since = np.where(better, size, best), np.where(better, 0, since + 1)
            left = ~done & (since <= PATIENCE)
            if not left.any():
                break
            joints, best, since = joints[left], best[left], since[left]
            joints = self.improved(joints, jacobian[left], error[left])
        if not found:
            return np.empty((0, len(self.lower)))
        _, first = np.unique(np.round(np.array(found), 3), axis=0, return_index=True)
        return np.array(found)[np.sort(first)]

    def improved(self, joints: np.ndarray, jacobian: np.ndarray, error: np.ndarray) -> np.ndarray:
        """Return joints (N, J) after one step that lessens errors (N, E), by Jacobians (N, E, J), within the limits."""
        step = _step(jacobian, error)
        # A joint that would leave its limits stays where it is, and the others do its part.
        stuck = ((joints <= self.lower) & (step < 0)) | ((joints >= self.upper) & (step > 0))
        if stuck.any():
            step = _step(np.where(stuck[:, None, :], 0.0, jacobian), error)
        most = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1.0, MOST_STEP / np.maximum(most, 1e-12))
        return np.clip(joints + step, self.lower, self.upper)

    def poses(self, joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return tool poses (N, 4, 4) and Jacobians (N, 6, J): translation, then rotation."""
        count, number = joints.shape
        pose = np.broadcast_to(np.eye(4), (count, 4, 4))
        turned = np.empty((number, count, 3))
        through = np.empty((number, count, 3))
        for i in range(number):
            pose = pose @ self.frames[i]
            turned[i] = pose[:, :3, :3] @ self.axes[i]
            through[i] = pose[:, :3, :3] @ self.anchors[i] + pose[:, :3, 3]
            pose = pose @ self._motions(i, joints[:, i] - self.references[i])
        pose = pose @ self.tool
        jacobian = np.empty((count, 6, number))
        for i in range(number):
            if self.slides[i]:
                jacobian[:, :3, i], jacobian[:, 3:, i] = turned[i], 0.0
            else:
                jacobian[:, :3, i] = np.cross(turned[i], pose[:, :3, 3] - through[i])
                jacobian[:, 3:, i] = turned[i]
        return pose, jacobian

    def _motions(self, joint: int, by: np.ndarray) -> np.ndarray:
        """Return what a joint does when it moves `by` (N,), (N, 4, 4)."""
        motion = np.broadcast_to(np.eye(4), (len(by), 4, 4)).copy()
        along = by[:, None] * self.axes[joint]
        if self.slides[joint]:
            motion[:, :3, 3] = along
            return motion
        motion[:, :3, :3] = Rotation.from_rotvec(along).as_matrix()
        motion[:, :3, 3] = self.anchors[joint] - motion[:, :3, :3] @ self.anchors[joint]
        return motion


def chain_of(
    model: mujoco.MjModel, data: mujoco.MjData, joints: Sequence[int], base: np.ndarray, tool: np.ndarray
) -> Chain:
    """Return the chain of joints of a model, from a frame `base` to a frame `tool`, 4x4 in its world.

    `data` has its kinematics computed; joints that are not in the chain stay where they are.
    """
    chosen, frames, before = list(joints), list[np.ndarray](), np.linalg.inv(base)
    for joint in chosen:
        pose = pose_of(data, int(model.jnt_bodyid[joint]))
        frames.append(before @ pose)
        before = np.linalg.inv(pose)
    limited = model.jnt_limited[chosen].astype(bool)
    return Chain(
        frames=np.array(frames),
        axes=model.jnt_axis[chosen].copy(),
        anchors=model.jnt_pos[chosen].copy(),
        slides=model.jnt_type[chosen] == mujoco.mjtJoint.mjJNT_SLIDE,
        references=data.qpos[model.jnt_qposadr[chosen]].copy(),
        tool=before @ tool,
        lower=np.where(limited, model.jnt_range[chosen, 0], -TURN),
        upper=np.where(limited, model.jnt_range[chosen, 1], TURN),
    )


def _between(reached: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Return what is missing to `pose` from poses (N, 4, 4): translation and rotation vector, (N, 6)."""
    turn = pose[:3, :3] @ reached[:, :3, :3].transpose(0, 2, 1)
    return np.hstack([pose[:3, 3] - reached[:, :3, 3], Rotation.from_matrix(turn).as_rotvec()])


def _step(jacobian: np.ndarray, error: np.ndarray) -> np.ndarray:
    damping = 0.5 * (error**2).sum(axis=1) + FLOOR
    square = jacobian @ jacobian.transpose(0, 2, 1) + damping[:, None, None] * np.eye(error.shape[1])
    return (jacobian.transpose(0, 2, 1) @ np.linalg.solve(square, error[:, :, None]))[:, :, 0]
