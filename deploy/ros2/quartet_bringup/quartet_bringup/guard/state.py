"""What the guard tells of itself, as a message and as JSON."""

from dataclasses import dataclass
from typing import Any

NAME = "robot_guard"
RUNNING = "running"
"""The reason while nothing is stopped."""


@dataclass(frozen=True)
class State:
    """`standstill` is None while nothing is stopped, while the robot brakes, and where base or arm do not report."""

    latched: bool
    reason: str
    standstill: bool | None
    since_s: float
    """ROS time of the last change between running and stopped."""
    last_heartbeat_age_s: float | None

    def values(self) -> dict[str, str]:
        """Of the diagnostic_msgs/DiagnosticStatus whose `message` is the reason."""
        age = self.last_heartbeat_age_s
        return {
            "latched": str(self.latched).lower(),
            "standstill": "unknown" if self.standstill is None else str(self.standstill).lower(),
            "since": f"{self.since_s:.3f}",
            "last_heartbeat_age_s": "" if age is None else f"{age:.3f}",
        }

    def as_json(self) -> dict[str, Any]:
        """The same fields for the HTTP port."""
        return {
            "latched": self.latched,
            "reason": self.reason,
            "standstill": self.standstill,
            "since": round(self.since_s, 3),
            "last_heartbeat_age_s": None if self.last_heartbeat_age_s is None else round(self.last_heartbeat_age_s, 3),
        }
