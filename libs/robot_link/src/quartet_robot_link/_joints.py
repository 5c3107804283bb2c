"""Joint states: positions and speeds by name, also of drivers that leave fields of the message empty."""

import time
from collections.abc import Collection
from dataclasses import dataclass

from quartet_robot_link._clock import stamp_of
from quartet_robot_link.link import Message, number

WINDOW_S = 0.2
"""Least time over which a speed is derived from positions: shorter, their noise counts as motion."""
FRESH_S = 1.0
"""A speed that is older than this (wall time) says nothing of now."""


def joint_values(message: Message, field: str) -> dict[str, float]:
    """Return `field` (position, velocity, effort) of a sensor_msgs/msg/JointState by joint name.

    Joints without a number there are left out: a driver may send names only, fewer numbers than names, or null.
    """
    names, values = message.get("name"), message.get(field)
    if names is None or values is None:
        return {}
    numbers = ((str(name), number(value)) for name, value in zip(names, values, strict=False))
    return {name: value for name, value in numbers if value is not None}


@dataclass(frozen=True)
class _Sample:
    position: float
    stamp: float
    received_at: float


class JointSpeeds:
    """Newest speeds of joints [rad/s or m/s], from any number of drivers on one topic.

    A joint whose messages have no velocity gets its speed from how its position changes.
    """

    def __init__(self) -> None:
        self._speeds: dict[str, tuple[float, float]] = {}
        """Speed and when it was received [monotonic s]."""
        self._samples: dict[str, _Sample] = {}

    def add(self, message: Message) -> None:
        """Take a sensor_msgs/msg/JointState."""
        now = time.monotonic()
        stamp = stamp_of(message) if "header" in message else 0.0
        velocities = joint_values(message, "velocity")
        for name, velocity in velocities.items():
            self._speeds[name] = abs(velocity), now
        for name, position in joint_values(message, "position").items():
            if name not in velocities:
                self._derive(name, _Sample(position, stamp, now))

    def of(self, joints: Collection[str]) -> list[float] | None:
        """Return the speeds of `joints`, None until a fresh one of each is known."""
        now = time.monotonic()
        known = [self._speeds.get(name) for name in joints]
        fresh = [speed[0] for speed in known if speed is not None and now - speed[1] <= FRESH_S]
        return fresh if len(fresh) == len(joints) else None

    def missing(self, joints: Collection[str]) -> list[str]:
        """Return those of `joints` of which neither a position nor a velocity was received."""
        return [name for name in joints if name not in self._speeds and name not in self._samples]

    def _derive(self, name: str, sample: _Sample) -> None:
        before = self._samples.setdefault(name, sample)
        elapsed = sample.stamp - before.stamp
        if elapsed <= 0:
            # Without stamps, or with a simulated clock that stands still.
            elapsed = sample.received_at - before.received_at
        if elapsed >= WINDOW_S:
            self._speeds[name] = abs(sample.position - before.position) / elapsed, sample.received_at
            self._samples[name] = sample
