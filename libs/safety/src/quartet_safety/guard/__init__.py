"""The robot guard's core, in Python's standard library alone.

Adapters connect it to a robot: `quartet_simulation` to the simulated one, `quartet_bringup` (deploy/ros2) to ROS 2.
"""

from quartet_safety.guard._guard import (
    BRAKING_LIMIT_S,
    INHERITED_GRACE_S,
    LAPSE_HOLD_S,
    LOOK_PERIOD_S,
    Brakes,
    Guard,
)
from quartet_safety.guard._heartbeats import Heartbeats
from quartet_safety.guard._http_port import GuardPort, Tokens, require_token, token_source
from quartet_safety.guard._latch import Latch, LatchFile
from quartet_safety.guard._standstill import Standstill
from quartet_safety.guard._wire import (
    DONE,
    HEARTBEAT_TOPIC,
    HEARTBEAT_TYPE,
    LAPSED,
    MAX_REASON,
    NODE,
    RUNNING,
    SERVICE_TYPE,
    STATE_TOPIC,
    STATE_TYPE,
    STOP_SERVICE,
    GuardStatus,
    is_lapse,
    names_source,
    read_latched,
)

__all__ = [
    "BRAKING_LIMIT_S",
    "DONE",
    "HEARTBEAT_TOPIC",
    "HEARTBEAT_TYPE",
    "INHERITED_GRACE_S",
    "LAPSED",
    "LAPSE_HOLD_S",
    "LOOK_PERIOD_S",
    "MAX_REASON",
    "NODE",
    "RUNNING",
    "SERVICE_TYPE",
    "STATE_TOPIC",
    "STATE_TYPE",
    "STOP_SERVICE",
    "Brakes",
    "Guard",
    "GuardPort",
    "GuardStatus",
    "Heartbeats",
    "Latch",
    "LatchFile",
    "Standstill",
    "Tokens",
    "is_lapse",
    "names_source",
    "read_latched",
    "require_token",
    "token_source",
]
