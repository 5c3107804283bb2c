"""Joint trajectories and their timing: every segment is a quintic between two waypoints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from quartet_simulation.arm.model import ArmModel
from quartet_simulation.errors import InvalidCommandError

MIN_DURATION = 0.10
LIMIT_SLACK = 1e-3
"""What rounding may add to a joint at its limit [rad]."""


@dataclass(frozen=True)
class Trajectory:
    """Positions (N, J) and velocities (N, J) at times (N,) [s]; the first time is 0."""

    joint_names: tuple[str, ...]
    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray

    @property
    def duration(self) -> float:
        """Time of the last point [s]."""
        return float(self.times[-1])

    def states(self, step: float) -> Iterator[np.ndarray]:
        """Yield joints (J,) along it: at its points, midway between them, and at most `step` [rad] apart."""
        for i, (begin, end) in enumerate(pairwise(self.times)):
            moves = float(np.abs(self.positions[i + 1] - self.positions[i]).max())
            for time in np.linspace(begin, end, 2 * max(1, int(np.ceil(moves / step / 2))), endpoint=False):
                yield self.at(float(time))[0]
        yield self.positions[-1]

    def at(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Position and velocity at `time`, by cubic Hermite interpolation, held at both ends."""
        if time <= 0 or len(self.times) == 1:
            return self.positions[0], np.zeros_like(self.positions[0])
        if time >= self.times[-1]:
            return self.positions[-1], np.zeros_like(self.positions[-1])
        i = int(np.searchsorted(self.times, time, side="right")) - 1
        span = self.times[i + 1] - self.times[i]
        s = (time - self.times[i]) / span
        p0, p1 = self.positions[i], self.positions[i + 1]
        v0, v1 = self.velocities[i] * span, self.velocities[i + 1] * span
        position = (
            (2 * s**3 - 3 * s**2 + 1) * p0
            + (s**3 - 2 * s**2 + s) * v0
            + (-2 * s**3 + 3 * s**2) * p1
            + (s**3 - s**2) * v1
        )
        velocity = (
            (6 * s**2 - 6 * s) * p0 + (3 * s**2 - 4 * s + 1) * v0 + (-6 * s**2 + 6 * s) * p1 + (3 * s**2 - 2 * s) * v1
        ) / span
        return position, velocity


def time_path(arm: ArmModel, path: np.ndarray, scale: float = 1.0, spacing: float = 0.05) -> Trajectory:
    """Timing of a path (N, J) with one quintic profile over its length.

    The path runs without a stop; speed follows 30 s^2 (1 - s)^2 of the quintic, so that it starts and ends at
    rest with no jump of acceleration. `scale` in (0, 1] scales the joint speed limits; the spread of corners is
    what the caller's path simplification left.
    """
    path = np.asarray(path, dtype=float)
    steps = np.abs(np.diff(path, axis=0))
    keep = np.concatenate([[True], steps.max(axis=1) > 1e-6]) if len(path) > 1 else np.array([True])
    path = path[keep]
    if len(path) == 1:
        return Trajectory(arm.joints, np.array([0.0]), path, np.zeros_like(path))
    speed, acceleration = np.array(arm.speed) * scale, np.array(arm.acceleration) * scale
    # Length of a segment is the time it takes at the speed limit of its slowest joint.
    lengths = (np.abs(np.diff(path, axis=0)) / speed).max(axis=1)
    total = float(lengths.sum())
    slowest = float((speed / acceleration).max())
    # Peak speed of the quintic is 15/8, peak acceleration 5.77 of the mean.
    duration = max(1.875 * total, float(np.sqrt(5.774 * total * slowest)), MIN_DURATION)
    count = max(2, int(np.ceil(duration / spacing)) + 1)
    times = np.linspace(0, duration, count)
    s = times / duration
    along = total * (10 * s**3 - 15 * s**4 + 6 * s**5)
    knots = np.concatenate([[0.0], np.cumsum(lengths)])
    positions = np.column_stack([np.interp(along, knots, path[:, j]) for j in range(path.shape[1])])
    velocities = np.gradient(positions, times, axis=0)
    velocities[0] = velocities[-1] = 0
    return Trajectory(arm.joints, times, positions, velocities)


def from_points(arm: ArmModel, joint_names: list[str], points: list[tuple[float, list[float]]]) -> Trajectory:
    """A trajectory in the arm's own joint order. Raises InvalidCommandError."""
    if sorted(joint_names) != sorted(arm.joints):
        raise InvalidCommandError(f"joint_names {joint_names} must be the arm's: {', '.join(arm.joints)}")
    if not points:
        raise InvalidCommandError("a trajectory needs at least one point")
    order = [joint_names.index(name) for name in arm.joints]
    times = np.array([float(t) for t, _ in points])
    if any(len(q) != len(joint_names) for _, q in points):
        raise InvalidCommandError(f"every point needs {len(joint_names)} positions")
    positions = np.array([[float(q[i]) for i in order] for _, q in points])
    if not (np.isfinite(times).all() and np.isfinite(positions).all()):
        raise InvalidCommandError("a trajectory must hold finite times and positions")
    beyond = (positions < np.array(arm.lower) - LIMIT_SLACK) | (positions > np.array(arm.upper) + LIMIT_SLACK)
    if beyond.any():
        point, joint = np.argwhere(beyond)[0]
        raise InvalidCommandError(
            f"{arm.joints[joint]} {positions[point, joint]:g} rad is outside of its limits; valid: "
            f"{arm.lower[joint]:.4f} to {arm.upper[joint]:.4f}"
        )
    if (np.diff(times) <= 0).any() or times[0] < 0:
        raise InvalidCommandError("time_from_start must grow from point to point and start at 0 or later")
    if len(times) == 1:
        return Trajectory(arm.joints, times, positions, np.zeros_like(positions))
    velocities = np.gradient(positions, times, axis=0)
    velocities[0] = velocities[-1] = 0
    return Trajectory(arm.joints, times, positions, velocities)
