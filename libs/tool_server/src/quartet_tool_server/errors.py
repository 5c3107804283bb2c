"""Errors of a tool, and the one place where exceptions become error codes.

ToolFailure          an expected failure with its own code; the message is for the model
├── InvalidArguments     a value that this tool cannot take
├── Busy                 another motion of the same channel runs
├── Canceled             the motion was canceled before it could go on
├── Stopped              the robot guard or this server is latched
├── Lapsed               heartbeats stayed out while the robot moved
├── Denied               the caller's grant does not cover this
└── Fenced               the caller's grant is older than the newest one
"""

import logging
from typing import Any

from fastmcp.exceptions import NotFoundError, ValidationError
from pydantic import ValidationError as PydanticValidationError

from quartet_contracts.tools import CommonCode
from quartet_contracts.tools.perception import PerceptionCode
from quartet_process import redact
from quartet_robot_link import (
    BridgeUnavailable,
    CallTimeout,
    CameraUnavailable,
    LinkError,
    RosError,
    TransformUnavailable,
)

log = logging.getLogger(__name__)

MAX_MESSAGE = 2000
"""Characters of a message; it may repeat what a model sent."""


class ToolFailure(Exception):
    """An expected failure. `code` is the result's error_code, `fields` are further fields of the result."""

    code: str = CommonCode.UNKNOWN

    def __init__(self, message: str, *, code: str | None = None, **fields: Any) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self.fields = fields


class InvalidArguments(ToolFailure):
    """The message names the value, the valid values and what to do."""

    code = CommonCode.INVALID_PARAMETERS


class Busy(ToolFailure):
    """Another motion of the same channel runs."""

    code = CommonCode.BUSY


class Canceled(ToolFailure):
    """The motion was canceled before it could go on."""

    code = CommonCode.CANCELED


class Stopped(ToolFailure):
    """The robot guard or this server is latched."""

    code = CommonCode.STOPPED


class Lapsed(ToolFailure):
    """Heartbeats of the caller or of this server stayed out, so the motion was ended."""

    code = CommonCode.HEARTBEAT_LAPSED


class Denied(ToolFailure):
    """The caller's grant does not cover this."""

    code = CommonCode.DENIED


class Fenced(ToolFailure):
    """The caller's grant is older than the newest one for this robot."""

    code = CommonCode.FENCED


_CODES: tuple[tuple[type[LinkError], str], ...] = (
    (BridgeUnavailable, CommonCode.BRIDGE_UNAVAILABLE),
    (CallTimeout, CommonCode.TIMEOUT),
    (TransformUnavailable, CommonCode.TRANSFORM_UNAVAILABLE),
    (CameraUnavailable, PerceptionCode.CAMERA_UNAVAILABLE),
    (RosError, CommonCode.ROS_ERROR),
)


def failure(error: BaseException, *, tool: str = "", arguments: tuple[str, ...] = ()) -> dict[str, Any]:
    """Fields of a failed result: ok, error_code, message and what else the error knows.

    `arguments`: names of the tool's arguments, for the message about a wrong one.
    """
    if isinstance(error, ToolFailure):
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
