"""Messages as plain dicts: completed and checked against their ROS 2 definitions.

Errors
└── TypeSupportError
    ├── UnknownTypeError       a type that is not defined here
    └── FieldError        a value that does not fit; texts as rosbridge_library 2.7 words them
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from quartet_simulation.errors import FieldError, TypeSupportError, UnknownTypeError
from quartet_simulation.ros.definitions import PRIMITIVES, Definition, Field, load

Message = dict[str, Any]
"""Field name to value; uint8[] is bytes, numeric arrays are lists or numpy arrays."""

_BITS = {"byte": 8, "char": 8} | {f"{sign}int{bits}": bits for sign in ("", "u") for bits in (8, 16, 32, 64)}
_RANGES = {
    name: (-(1 << bits - 1), (1 << bits - 1) - 1) if name.startswith("int") else (0, (1 << bits) - 1)
    for name, bits in _BITS.items()
}
_ZERO: dict[str, Any] = {"bool": False, "string": "", "float32": 0.0, "float64": 0.0}
_FLOAT32_MAX = 3.402823466e38
_TIMES = ("builtin_interfaces/Time", "builtin_interfaces/Duration")


def full_name(name: str, kind: str = "msg") -> str:
    """`pkg/Type` and `pkg/<kind>/Type` as `pkg/<kind>/Type`. Raises UnknownTypeError."""
    pieces = name.split("/")
    if len(pieces) == 2:
        pieces.insert(1, kind)
    full = "/".join(pieces)
    if full not in load() or pieces[1] != kind:
        raise UnknownTypeError(f"Unable to import {name}: no such {kind} type is installed here")
    return full


def parts(name: str, kind: str) -> tuple[Definition, ...]:
    """The parts of a service (request, response) or action (goal, result, feedback). Raises UnknownTypeError."""
    return load()[full_name(name, kind)][1]


def definition(name: str) -> Definition:
    """Of `pkg/Type`, `pkg/msg/Type` or a part such as `pkg/Type_Request`. Raises UnknownTypeError."""
    pieces = name.split("/")
    found = _definitions().get(f"{pieces[0]}/{pieces[-1]}")
    if found is None:
        raise UnknownTypeError(f"Unable to import {name}: no such type is installed here")
    return found


@cache
def _definitions() -> dict[str, Definition]:
    # A service or action part has a suffix, so that it never hides the message of the same name.
    return {part.name: part for _, all_parts in load().values() for part in all_parts}


def complete(name: str, value: Any, now: Callable[[], Message] | None = None) -> Message:
    """The whole message from what a client sent: defaults filled in, types checked, base64 decoded.

    `now` gives the stamp of headers that come without one. Raises FieldError, UnknownTypeError.
    """
    root = definition(name)
    return _object(value, root, root.name, (), now)


def _object(value: Any, of: Definition, root: str, path: tuple[str, ...], now: Callable[[], Message] | None) -> Message:
    if of.name in _TIMES:
        return _time(value, of, root, path, now)
    if not isinstance(value, dict):
        raise _mismatch(root, path, of.name, value)
    fields = of.by_name
    for key in value:
        if key not in fields:
            raise FieldError(f"Message type {root} does not have a field {'.'.join((*path, str(key)))}")
    message: Message = {}
    for field in of.fields:
        if field.name in value:
            message[field.name] = _value(value[field.name], field, root, (*path, field.name), now)
        elif now is not None and of.name == "std_msgs/Header" and field.name == "stamp":
            message["stamp"] = now()
        else:
            message[field.name] = _default(field, of.name)
    return message


def _time(value: Any, of: Definition, root: str, path: tuple[str, ...], now: Callable[[], Message] | None) -> Message:
    if value == "now" and now is not None:
        return now()
    if not isinstance(value, dict):
        raise _mismatch(root, path, of.name, value)
    seconds = value.get("sec", value.get("secs", 0))
    nanoseconds = value.get("nanosec", value.get("nsecs", 0))
    return {
        "sec": _primitive(seconds, "int32", root, (*path, "sec")),
        "nanosec": _primitive(nanoseconds, "uint32", root, (*path, "nanosec")),
    }


def _value(value: Any, field: Field, root: str, path: tuple[str, ...], now: Callable[[], Message] | None) -> Any:
    if field.length is None:
        if field.primitive:
            return _primitive(value, field.base, root, path)
        return _object(value, definition(field.base), root, path, now)
    if field.binary:
        value = _binary(value, field, root, path)
    elif not isinstance(value, list):
        raise _mismatch(root, path, field.spelled, value)
    if field.length and len(value) != field.length:
        raise FieldError(
            f"{root} message requires exactly {field.length} values for field {'.'.join(path)}, got {len(value)}"
        )
    if field.bound and len(value) > field.bound:
        raise FieldError(
            f"{root} message takes at most {field.bound} values for field {'.'.join(path)}, got {len(value)}"
        )
    if field.binary:
        return value
    if field.primitive:
        return [_primitive(item, field.base, root, path) for item in value]
    element = definition(field.base)
    return [_object(item, element, root, path, now) for item in value]


def _binary(value: Any, field: Field, root: str, path: tuple[str, ...]) -> bytes:
    try:
        if isinstance(value, str):
            return base64.standard_b64decode(value)
        if isinstance(value, list | bytes):
            return bytes(value)
    except (binascii.Error, ValueError, TypeError) as error:
        raise FieldError(f"{root} message requires a {field.spelled} for field {'.'.join(path)}: {error}") from error
    raise _mismatch(root, path, field.spelled, value)


def _primitive(value: Any, base: str, root: str, path: tuple[str, ...]) -> Any:
    if base in ("float32", "float64"):
        if isinstance(value, int | float):
            if base == "float32" and math.isfinite(value) and abs(value) > _FLOAT32_MAX:
                raise FieldError(f"{root} message requires a float32 for field {'.'.join(path)}, but got {value}")
            return float(value)
    elif base == "bool":
        if isinstance(value, bool):
            return value
    elif base == "string":
        if isinstance(value, str):
            return value
    elif isinstance(value, int) and not isinstance(value, bool):
        low, high = _RANGES[base]
        if low <= value <= high:
            return value
        raise FieldError(
            f"{root} message requires a {base} in [{low}, {high}] for field {'.'.join(path)}, but got {value}"
        )
    raise _mismatch(root, path, base, value)


def _mismatch(root: str, path: tuple[str, ...], expected: str, value: Any) -> FieldError:
    found = type(value)
    if root == expected:
        return FieldError(f"Expected a JSON object for type {root} but received a {found}")
    return FieldError(f"{root} message requires a {expected} for field {'.'.join(path)}, but got a {found}")


def _default(field: Field, owner: str) -> Any:
    if field.length is not None:
        if field.binary:
            return bytes(field.length)
        if field.length and field.primitive:
            return [_ZERO.get(field.base, 0)] * field.length
        return [default(field.base) for _ in range(field.length)]
    if field.primitive:
        # The one message in use whose definition gives a default other than zero.
        if owner == "geometry_msgs/Quaternion" and field.name == "w":
            return 1.0
        return _ZERO.get(field.base, 0)
    return default(field.base)


def default(name: str) -> Message:
    """The message with all its default values."""
    of = definition(name)
    return {field.name: _default(field, of.name) for field in of.fields}


def check(name: str, message: Any) -> None:
    """Raise FieldError unless an outgoing message has exactly the fields, types and sizes of its definition."""
    of = definition(name)
    _check_object(message, of, of.name)


def _check_object(message: Any, of: Definition, where: str) -> None:
    expected = [field.name for field in of.fields]
    if not isinstance(message, dict) or sorted(message) != sorted(expected):
        found = sorted(message) if isinstance(message, dict) else type(message).__name__
        raise FieldError(f"{where}: has {found}, {of.name} has {sorted(expected)}")
    for field in of.fields:
        _check_value(message[field.name], field, f"{where}.{field.name}")


def _check_value(value: Any, field: Field, where: str) -> None:
    if field.length is None:
        if field.primitive:
            _check_primitive(value, field.base, where)
        else:
            _check_object(value, definition(field.base), where)
        return
    if field.binary and not isinstance(value, bytes):
        raise FieldError(f"{where}: needs bytes, is {type(value).__name__}")
    if not isinstance(value, bytes | list | np.ndarray):
        raise FieldError(f"{where}: needs a list, is {type(value).__name__}")
    if (field.length and len(value) != field.length) or (field.bound and len(value) > field.bound):
        raise FieldError(f"{where}: {field.spelled} cannot have {len(value)} values")
    if field.binary:
        return
    for item in value.tolist() if isinstance(value, np.ndarray) else value:
        if field.primitive:
            _check_primitive(item, field.base, where)
        else:
            _check_object(item, definition(field.base), where)


def _check_primitive(value: Any, base: str, where: str) -> None:
    # type() and not isinstance(): a numpy scalar or a bool in an int field would leave as something else.
    wanted: type = {"float32": float, "float64": float, "bool": bool, "string": str}.get(base, int)
    if type(value) is not wanted:
        raise FieldError(f"{where}: needs a {base}, is {type(value).__name__}")
    if wanted is int and not _RANGES[base][0] <= value <= _RANGES[base][1]:
        raise FieldError(f"{where}: {value} does not fit into {base}")


__all__ = [
    "PRIMITIVES",
    "FieldError",
    "Message",
    "TypeSupportError",
    "UnknownTypeError",
    "check",
    "complete",
    "default",
    "definition",
    "full_name",
    "parts",
]
