"""Error codes that any tool of any server may return."""

from enum import StrEnum


class CommonCode(StrEnum):
    NONE = "NONE"
    INVALID_PARAMETERS = "INVALID_PARAMETERS"
    TIMEOUT = "TIMEOUT"
    """The robot did not answer in time; the outcome is not known: look before doing it again."""
    BRIDGE_UNAVAILABLE = "BRIDGE_UNAVAILABLE"
    """No connection to the robot's rosbridge, or it was lost during the call."""
    UPSTREAM_UNAVAILABLE = "UPSTREAM_UNAVAILABLE"
    """The third-party server behind this tool cannot be reached, or was lost during the call."""
    ROS_ERROR = "ROS_ERROR"
    """The robot's side answered with an error; the message carries its text."""
    TRANSFORM_UNAVAILABLE = "TRANSFORM_UNAVAILABLE"
    STOPPED = "STOPPED"
    """The robot guard or a server is stopped; a person must reset it."""
    CANCELED = "CANCELED"
    HEARTBEAT_LAPSED = "HEARTBEAT_LAPSED"
    """Caller or server was silent for too long while the robot moved, so it was brought to a standstill."""
    BUSY = "BUSY"
    """Another call moves the same part of the robot; wait for it or cancel it."""
    FENCED = "FENCED"
    """The caller's grant is older than the newest one for this robot."""
    DENIED = "DENIED"
    """The caller's grant does not cover this tool."""
    UNKNOWN = "UNKNOWN"
