"""Base of the results of all MCP tools, and the error codes that several servers share."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from quartet_contracts.messages import Model

Metres = Annotated[float, Field(allow_inf_nan=False)]
Radians = Annotated[float, Field(allow_inf_nan=False)]


class CommonCode(StrEnum):
    """Error codes that any tool of any server may return."""

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


class PolicyCode(StrEnum):
    """Error codes of a site's policy, which any tool may return; then nothing has moved.

    Repeating the call helps with none of them but INPUT_REQUIRED.
    """

    POLICY_DENIED = "POLICY_DENIED"
    """The policy does not let this agent use this tool, or not with these arguments, or it cannot judge the call."""
    OUTSIDE_GEOFENCE = "OUTSIDE_GEOFENCE"
    """The base would end outside the area where it may drive, or in a forbidden zone."""
    OUTSIDE_WORKSPACE = "OUTSIDE_WORKSPACE"
    """The tool flange would leave the box in which it may work."""
    OVER_LIMIT = "OVER_LIMIT"
    """Faster or heavier than the policy's cap."""
    WRONG_PHASE = "WRONG_PHASE"
    """Not now: the arm while the base drives, the base while the arm moves, or a release by an agent that carries."""
    RATE_LIMITED = "RATE_LIMITED"
    """The tool was called too often in the last minute."""
    INPUT_REQUIRED = "INPUT_REQUIRED"
    """A person must allow this call first, and this client cannot ask one."""
    APPROVAL_DENIED = "APPROVAL_DENIED"
    """A person did not allow this call, or nobody answered in time, or the decision does not fit the call."""


class ToolResult(Model):
    """Base of the structured result of a tool: `ok` is true exactly when `error_code` is NONE."""

    model_config = ConfigDict(extra="ignore")

    ok: bool = True
    error_code: str = "NONE"
    message: str = ""

    @model_validator(mode="after")
    def _ok_is_code_none(self) -> Self:
        if self.ok != (self.error_code == "NONE"):
            raise ValueError(f"ok={self.ok} does not go with error_code={self.error_code}: ok is true exactly at NONE")
        return self


class Pose2D(Model):
    """Pose on the floor: x, y [m], yaw [rad], in `frame_id`."""

    x: Metres
    y: Metres
    yaw: Radians
    frame_id: str = "map"


class Pose3D(Model):
    """Position [m] and orientation (quaternion x, y, z, w) in `frame_id`."""

    frame_id: str
    position: tuple[Metres, Metres, Metres]
    orientation: tuple[float, float, float, float]
