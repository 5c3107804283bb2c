"""When pictures and scans of a robot that moves arrive, and what their stamps say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quartet_simulation.sensors.levels import TimingLevel
from quartet_simulation.sensors.localisation import Pose, compose
from quartet_simulation.sensors.noise import generator


@dataclass(frozen=True)
class Times:
    """Of one picture or scan [s], after the moment that it shows.

    colour, depth: what the stamps of the two halves of a picture say; of a scan both are the same. arrives: when the
    robot's computer gets it. A stamp may be later than that: then the clock of the sensor is ahead.
    """

    colour: float = 0.0
    depth: float = 0.0
    arrives: float = 0.0


AT_ONCE = Times()


def times_of(level: TimingLevel | None, seed: int, sensor: str, time: float) -> Times:
    """Return the times of what a sensor (front, arm or laser) shows at a time of the world [s].

    The same arguments give the same times. Neither the depth's stamp nor `arrives` is below zero.
    """
    if level is None:
        return AT_ONCE
    rng = generator(seed, f"{sensor} times", time)
    late, delay = level.jitter_s * np.clip(rng.normal(size=2), -2, 2)
    depth = max(0.0, level.late_s + float(late))
    arrives = max(0.0, (level.scan_s if sensor == "laser" else level.delay_s) + float(delay))
    # Uniform, since two clocks that nothing ties together slide past each other.
    beside = 0.0 if sensor == "laser" else level.apart_s * float(rng.uniform(-1, 1))
    return Times(depth + beside, depth, arrives)


def after(pose: Pose, twist: Pose, time: float) -> Pose:
    """Return where a base at a pose is after a short time [s], by its twist in base_footprint [m/s, m/s, rad/s]."""
    vx, vy, wz = twist
    return compose(pose, (vx * time, vy * time, wz * time))
