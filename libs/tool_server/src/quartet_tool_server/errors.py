"""Errors of a tool server, and the one place where exceptions become error codes.

ToolServerError         root
├── StartError              the process cannot start
└── ToolError               an expected failure of a tool with a code of its own; the message is for the model
    ├── InvalidArgumentsError   a value that this tool cannot take
    ├── DeniedError             the caller's grant does not cover this
    ├── InputRequiredError      a person must allow the call, and the client cannot ask for it
    ├── ApprovalDeniedError     no valid decision of a person allows the call
    ├── PolicyDeniedError       the site's policy does not allow the call
    │   └── UnjudgeableError        the policy cannot tell what a goal or message does
    ├── RateLimitedError        the tool was called too often
    ├── OutsideGeofenceError    the base would end, or pass, where it may not be
    ├── OutsideWorkspaceError   the tool flange would leave its box
    ├── OverLimitError          faster or heavier than the policy allows
    └── WrongPhaseError         another part of the robot moves, or the gripper holds something

Who may not move the robot (stopped, fenced, busy, canceled) gets a quartet_safety.MotionRefusedError.
"""

import logging
from typing import Any

from fastmcp.exceptions import NotFoundError, ValidationError
from pydantic import ValidationError as PydanticValidationError

from quartet_contracts.tools import CommonCode
from quartet_contracts.tools.perception import PerceptionCode
from quartet_contracts.tools.results import PolicyCode
from quartet_process import redact
from quartet_robot_link import (
    BridgeUnavailableError,
    CallTimeoutError,
    CameraUnavailableError,
    RosError,
    TransformUnavailableError,
)
from quartet_safety.motion import BusyError, CanceledError, FencedError, LapsedError, StoppedError

log = logging.getLogger(__name__)

MAX_MESSAGE = 2000
"""Characters of a message; it may repeat what a model sent."""


class ToolServerError(Exception):
    """Root of the errors of this package."""


class StartError(ToolServerError):
    """The process cannot start; the message says what to change."""


class ToolError(ToolServerError):
    """An expected failure. `code` is the result's error_code, `fields` are further fields of the result."""

    code: str = CommonCode.UNKNOWN

    def __init__(self, message: str, *, code: str | None = None, **fields: Any) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self.fields = fields


class InvalidArgumentsError(ToolError):
    """A value that this tool cannot take; the message names it, the valid values and what to do."""

    code = CommonCode.INVALID_PARAMETERS


class DeniedError(ToolError):
    """The caller's grant does not cover this."""

    code = CommonCode.DENIED


class InputRequiredError(ToolError):
    """A person must allow the call, and the client speaks no MCP version that could ask for it."""

    code = PolicyCode.INPUT_REQUIRED


class ApprovalDeniedError(ToolError):
    """No valid decision of a person allows the call."""

    code = PolicyCode.APPROVAL_DENIED


class PolicyDeniedError(ToolError):
    """The site's policy does not allow this agent this call."""

    code = PolicyCode.POLICY_DENIED


class UnjudgeableError(PolicyDeniedError):
    """A goal or message whose effect the policy cannot tell."""


class RateLimitedError(ToolError):
    """The tool was called too often."""

    code = PolicyCode.RATE_LIMITED


class OutsideGeofenceError(ToolError):
    """The base would end, or pass, where it may not be sent."""

    code = PolicyCode.OUTSIDE_GEOFENCE


class OutsideWorkspaceError(ToolError):
    """The tool flange would leave its box."""

    code = PolicyCode.OUTSIDE_WORKSPACE


class OverLimitError(ToolError):
    """Faster or heavier than the policy allows."""

    code = PolicyCode.OVER_LIMIT


class WrongPhaseError(ToolError):
    """Another part of the robot moves, or the gripper holds something."""

    code = PolicyCode.WRONG_PHASE


_CODES: tuple[tuple[type[Exception], str], ...] = (
    (BusyError, CommonCode.BUSY),
    (CanceledError, CommonCode.CANCELED),
    (StoppedError, CommonCode.STOPPED),
    (LapsedError, CommonCode.HEARTBEAT_LAPSED),
    (FencedError, CommonCode.FENCED),
    (BridgeUnavailableError, CommonCode.BRIDGE_UNAVAILABLE),
    (CallTimeoutError, CommonCode.TIMEOUT),
    (TransformUnavailableError, CommonCode.TRANSFORM_UNAVAILABLE),
    (CameraUnavailableError, PerceptionCode.CAMERA_UNAVAILABLE),
    (RosError, CommonCode.ROS_ERROR),
)


def failure(error: BaseException, *, tool: str = "", arguments: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the fields of a failed result: ok, error_code, message, and what else the error has.

    `arguments`: names of the tool's arguments, for the message about a wrong one.
    """
    if isinstance(error, ToolError):
        return _fields(error.code, str(error)) | error.fields
    for kind, code in _CODES:
        if isinstance(error, kind):
            return _fields(code, str(error))
    cause = error.__cause__ if isinstance(error, ValidationError) else None
    if isinstance(cause, PydanticValidationError):
        return _fields(CommonCode.INVALID_PARAMETERS, _wrong_arguments(cause, tool, arguments))
    if isinstance(error, NotFoundError):
        return _fields(CommonCode.DENIED, str(error))
    log.error("tool %s failed", tool, exc_info=error)
    text = f"{type(error).__name__}: {error}; this is a fault of the server, its log has the details"
    return _fields(CommonCode.UNKNOWN, text)


def _fields(code: str, text: str) -> dict[str, Any]:
    text = redact(text)
    left_out = len(text) - MAX_MESSAGE
    if left_out > 0:
        text = f"{text[: MAX_MESSAGE // 2]} [... {left_out} characters left out] {text[-MAX_MESSAGE // 2 :]}"
    return {"ok": False, "error_code": str(code), "message": text}


def _wrong_arguments(error: PydanticValidationError, tool: str, arguments: tuple[str, ...]) -> str:
    faults: list[str] = []
    for fault in error.errors(include_url=False):
        place = ".".join(str(part) for part in fault["loc"] if not str(part).startswith("function-")) or "arguments"
        text = f"{place}: {fault['msg']}"
        if fault["type"] not in {"missing", "missing_argument", "unexpected_keyword_argument"}:
            text += f" (got {str(fault['input'])[:80]!r})"
        faults.append(text)
    valid = f"; {tool} takes: {', '.join(arguments)}" if arguments else ""
    return f"{'; '.join(faults)}{valid}. Nothing was done; call again with valid values."
