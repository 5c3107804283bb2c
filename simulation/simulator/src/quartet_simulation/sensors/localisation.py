"""Where the robot believes it is: drifting odometry and a map -> odom correction with centimetre noise."""

from __future__ import annotations

import math

import numpy as np

from quartet_simulation.sensors.levels import LocalisationLevel
from quartet_simulation.sensors.noise import generator

Pose = tuple[float, float, float]
POSITION_AMPLITUDE = 0.009
"""Amplitude of the slow error of the pose in map [m]; the sum of two waves stays under 2 cm."""
YAW_AMPLITUDE = math.radians(0.25)
SCALE_ERROR, YAW_DRIFT = 0.01, 0.006
"""Odometry: relative length error, and yaw error per metre driven [rad/m]."""


def wrap(angle: float) -> float:
    """Return an angle between -pi and pi [rad]."""
    return math.atan2(math.sin(angle), math.cos(angle))


def compose(a: Pose, b: Pose) -> Pose:
    """Return pose `b`, given in `a`, in the frame of `a`."""
    c, s = math.cos(a[2]), math.sin(a[2])
    return a[0] + c * b[0] - s * b[1], a[1] + s * b[0] + c * b[1], wrap(a[2] + b[2])


def inverse(a: Pose) -> Pose:
    """Return the pose of the parent frame in `a`."""
    c, s = math.cos(a[2]), math.sin(a[2])
    return -c * a[0] - s * a[1], s * a[0] - c * a[1], -a[2]


def moved_by(points: np.ndarray, pose: Pose) -> np.ndarray:
    """Return points (..., 2 or 3), given in a frame at a pose, in the frame of the pose."""
    c, s = math.cos(pose[2]), math.sin(pose[2])
    found = points.copy()
    found[..., 0] = c * points[..., 0] - s * points[..., 1] + pose[0]
    found[..., 1] = s * points[..., 0] + c * points[..., 1] + pose[1]
    return found


class Localisation:
    """Follows the true pose and answers with what a robot would know.

    Without a level the error is a slow wave of the time; with one it changes when the robot has moved, as AMCL's does.
    """

    def __init__(self, seed: int, pose: Pose, level: LocalisationLevel | None = None) -> None:
        rng = generator(seed, "localisation", 0.0)
        self._phase = rng.uniform(0, 2 * math.pi, 6)
        self._period = rng.uniform(4.0, 11.0, 6)
        self._scale = 1 + float(rng.normal(0, SCALE_ERROR))
        self._drift = float(rng.normal(0, YAW_DRIFT))
        self._last = pose
        self._odom: Pose = (0.0, 0.0, 0.0)
        self._level, self._rng, self._seed = level, rng, seed
        if level is not None:
            self._error = self._drawn(level)
            self._correct()

    def update(self, true_pose: Pose) -> None:
        """Integrate one tick of true motion into odometry."""
        dx, dy, dyaw = compose(inverse(self._last), true_pose)
        length = math.hypot(dx, dy)
        self._odom = compose(self._odom, (dx * self._scale, dy * self._scale, dyaw + self._drift * length))
        self._last = true_pose
        if self._level is not None:
            self._length, self._turn = self._length + length, self._turn + abs(dyaw)
            if self._length > self._level.every_m or self._turn > self._level.every_rad:
                kept = 0.0 if self._rng.random() < self._level.jump else self._level.kept
                self._error = kept * self._error + math.sqrt(1 - kept * kept) * self._drawn(self._level)
                self._correct()

    def _drawn(self, level: LocalisationLevel) -> np.ndarray:
        """Return an error of the pose in the map: x, y [m], yaw [rad]; at most two RMS errors."""
        drawn = np.clip(self._rng.normal(size=3), -2, 2)
        return drawn * (level.position_m / math.sqrt(2), level.position_m / math.sqrt(2), level.yaw_rad)

    def _correct(self) -> None:
        """Set map -> odom so that the present pose has the present error; until the next time only odometry errs."""
        self._length = self._turn = 0.0
        x, y, yaw = self._last
        dx, dy, dyaw = self._error.tolist()
        self._corrected = compose((x + dx, y + dy, wrap(yaw + dyaw)), inverse(self._odom))

    def odom(self) -> Pose:
        """base_footprint in odom."""
        return self._odom

    def twist(self, true: Pose, time: float) -> Pose:
        """Return the twist in base_footprint (m/s, m/s, rad/s) that the wheels give for the true one.

        Without a level it is the true one; else it has the scale and drift of the odometry, and noise.
        """
        if self._level is None:
            return true
        noise = 1 + self._level.twist_share * generator(self._seed, "twist", time).normal(size=3)
        vx, vy, wz = true
        turn = wz + self._drift * math.hypot(vx, vy)
        return vx * self._scale * float(noise[0]), vy * self._scale * float(noise[1]), turn * float(noise[2])

    @property
    def error(self) -> tuple[float, float]:
        """RMS error of x and of y [m], and of yaw [rad], of the estimate."""
        if self._level is None:
            return 0.02 / math.sqrt(2), 0.01
        return self._level.position_m / math.sqrt(2), self._level.yaw_rad

    def estimate(self, time: float) -> Pose:
        """base_footprint in map as localisation has it: under 2 cm and 0.5 degrees off, or as the level says."""
        if self._level is not None:
            return compose(self._corrected, self._odom)
        waves = np.sin(2 * np.pi * time / self._period + self._phase)
        x, y, yaw = self._last
        return (
            x + POSITION_AMPLITUDE * float(waves[0] + waves[1]) / 1.4,
            y + POSITION_AMPLITUDE * float(waves[2] + waves[3]) / 1.4,
            wrap(yaw + YAW_AMPLITUDE * float(waves[4] + waves[5]) / 1.4),
        )

    def map_to_odom(self, time: float) -> Pose:
        """Return the transform from map to odom as localisation has it (x, y, yaw)."""
        if self._level is not None:
            return self._corrected
        return compose(self.estimate(time), inverse(self._odom))
