"""What guard and servers say to each other over ROS: names, types, heartbeats and the guard's state."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NODE = "robot_guard"
STATE_TOPIC = "/robot_guard/state"
STATE_TYPE = "diagnostic_msgs/msg/DiagnosticStatus"
"""Latched (transient local). `message` is the reason, `values` are those of `GuardStatus.values`."""
HEARTBEAT_TOPIC = "/robot_guard/heartbeat"
HEARTBEAT_TYPE = "std_msgs/msg/Header"
"""`frame_id` is `<server>:<motion id>` while the motion runs, and once `<server>:<motion id>/done` after it."""
STOP_SERVICE = "/robot_guard/stop"
"""The reset has no service, since every node of the graph could call it. The HTTP port asks for a token."""
SERVICE_TYPE = "std_srvs/srv/Trigger"

DONE = "/done"
RUNNING = "running"
"""The reason while nothing is stopped."""
LAPSED = "heartbeat lapsed"
"""How the reason begins after a lapse, before a colon and the sources."""
OK, WARN, ERROR = 0, 1, 2
"""Levels of diagnostic_msgs/msg/DiagnosticStatus."""
MAX_REASON = 500
"""Characters."""

_SOURCE = re.compile(r"[^\s:/]{1,64}:[^\s/]{1,128}")


def names_source(frame_id: str) -> bool:
    """Return whether a heartbeat's frame_id is `<server>:<motion id>` or `<server>:<motion id>/done`."""
    return _SOURCE.fullmatch(frame_id.removesuffix(DONE)) is not None


def is_lapse(reason: str) -> bool:
    """Return whether the guard gives this reason after a lapse of heartbeats."""
    return reason.startswith(LAPSED)


def read_latched(values: Mapping[str, Any]) -> bool:
    """Return `latched` of the state's values.

    Raises:
        ValueError: it is neither true nor false. Nothing unreadable may tell that a stopped robot moves again.
    """
    latched = str(values["latched"]).lower()
    if latched not in {"true", "false"}:
        raise ValueError(f"latched is '{latched[:40]}'; the guard says true or false")
    return latched == "true"


@dataclass(frozen=True)
class GuardStatus:
    """The guard's state, as it is published and as the HTTP port answers with it."""

    latched: bool
    """Stopped until a person resets it."""
    reason: str
    standstill: bool | None
    """Whether base and arm were measured to rest. None: nothing is held, it still brakes, or they do not report."""
    since_s: float
    """ROS time of the last change between running and held [s]."""
    last_heartbeat_age_s: float | None
    """Wall time since the newest heartbeat of any source; None before the first."""

    @property
    def level(self) -> int:
        """Level of the DiagnosticStatus: ERROR while latched, WARN after a lapse, else OK."""
        return ERROR if self.latched else OK if self.reason == RUNNING else WARN

    def values(self) -> dict[str, str]:
        """Return the key-value pairs of the DiagnosticStatus."""
        age = self.last_heartbeat_age_s
        return {
            "latched": str(self.latched).lower(),
            "standstill": "unknown" if self.standstill is None else str(self.standstill).lower(),
            "since": f"{self.since_s:.3f}",
            "last_heartbeat_age_s": "" if age is None else f"{age:.3f}",
        }

    def as_json(self) -> dict[str, Any]:
        """Return the fields for the HTTP port."""
        return {
            "latched": self.latched,
            "reason": self.reason,
            "standstill": self.standstill,
            "since": round(self.since_s, 3),
            "last_heartbeat_age_s": None if self.last_heartbeat_age_s is None else round(self.last_heartbeat_age_s, 3),
        }
