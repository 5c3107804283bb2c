"""One time law for a path of several arms, within the limits of all joints."""

from __future__ import annotations

import numpy as np

from quartet_simulation.arm.trajectory import Trajectory

SPACING_S = 0.02
"""Distance between two points of a timed path, at full speed [s]."""
SAMPLE_S = 0.01
"""Where the limits of the result are checked [s]."""
SLOWEST = 0.02
"""Least share of the full speed between start and end, so that a sharp corner does not stop the arms for long."""


def time_joint_path(
    names: tuple[str, ...], path: np.ndarray, speed: np.ndarray, acceleration: np.ndarray
) -> Trajectory:
    """Return a timed path (N, J) that starts and ends at rest, as fast as speeds and accelerations (J,) allow.

    Half of the acceleration is for corners, half for speeding up and slowing down along the path. The result is
    stretched by what interpolation exceeds the limits.
    """
    lengths = (np.abs(np.diff(path, axis=0)) / speed).max(axis=1)
    knots = np.concatenate([[0.0], np.cumsum(lengths)])
    total = float(knots[-1])
    if total < 1e-6:
        return Trajectory(names, np.array([0.0]), path[:1], np.zeros_like(path[:1]))
    moves = np.concatenate([[True], lengths > 1e-9])
    along = np.linspace(0.0, total, max(5, int(np.ceil(total / SPACING_S)) + 1))
    positions = np.column_stack([np.interp(along, knots[moves], column) for column in path[moves].T])
    gap = along[1]
    direction = np.gradient(positions, gap, axis=0)
    bend = np.zeros_like(positions)
    bend[1:-1] = np.diff(positions, 2, axis=0) / gap**2
    tiny = 1e-9
    with_bend = np.sqrt((acceleration / 2 / np.maximum(np.abs(bend), tiny)).min(axis=1))
    pace = np.clip(with_bend, SLOWEST, (speed / np.maximum(np.abs(direction), tiny)).min(axis=1))
    gain = (acceleration / 2 / np.maximum(np.abs(direction), tiny)).min(axis=1)
    pace[0] = pace[-1] = 0.0
    for order in (range(1, len(pace)), range(len(pace) - 2, -1, -1)):
        for index in order:
            before = index - 1 if order.step == 1 else index + 1
            pace[index] = min(pace[index], np.sqrt(pace[before] ** 2 + 2 * min(gain[index], gain[before]) * gap))
    times = np.concatenate([[0.0], np.cumsum(2 * gap / (pace[1:] + pace[:-1]))])
    return _within(Trajectory(names, times, positions, direction * pace[:, None]), speed, acceleration)


def _within(trajectory: Trajectory, speed: np.ndarray, acceleration: np.ndarray) -> Trajectory:
    """Return the trajectory, stretched so that no sample exceeds a limit."""
    times = np.arange(0.0, trajectory.duration + SAMPLE_S, SAMPLE_S)
    speeds = np.array([trajectory.at(float(time))[1] for time in times])
    changes = np.abs(np.diff(speeds, axis=0)) / SAMPLE_S
    stretch = max(1.0, float((np.abs(speeds) / speed).max()), float(np.sqrt((changes / acceleration).max())))
    names, positions, velocities = trajectory.joint_names, trajectory.positions, trajectory.velocities
    return Trajectory(names, trajectory.times * stretch, positions, velocities / stretch)
