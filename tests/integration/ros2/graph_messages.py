"""Messages of rclpy as rosbridge's values and back, and the lines that the programs of a graph exchange with a test."""

import base64
import importlib
import json
import math
import threading
from array import array
from typing import Any

Values = dict[str, Any]
_writing = threading.Lock()


def say(at: str, operation: Values) -> None:
    """Print an operation as a line for the test."""
    with _writing:
        print(json.dumps({"at": at, **operation}), flush=True)


def interface(name: str) -> Any:
    """Return the class of `pkg/kind/Name`, or of `pkg/Name` for a message."""
    package, *kind, last = name.split("/")
    return getattr(importlib.import_module(f"{package}.{kind[0] if kind else 'msg'}"), last)


def as_values(value: Any) -> Any:
    """Return what rosbridge sends for a message or a field."""
    if hasattr(value, "get_fields_and_field_types"):
        return {name: as_values(getattr(value, name)) for name in value.get_fields_and_field_types()}
    if isinstance(value, bytes):
        return value[0]
    if isinstance(value, array) and value.typecode == "B":
        return base64.b64encode(value.tobytes()).decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bool | int | str):
        return value
    return [
        as_values(item if isinstance(item, bytes) else getattr(item, "item", lambda item=item: item)())
        for item in value
    ]


def as_message(kind: Any, values: Values) -> Any:
    """Return a message of class `kind`; a field that it has not is an error, as for rosbridge."""
    message = kind()
    fields = kind.get_fields_and_field_types()
    for name, value in values.items():
        if name not in fields:
            raise ValueError(
                f"Message type {kind.__module__.split('.')[0]}/{kind.__name__} does not have a field {name}"
            )
        setattr(message, name, _as_field(fields[name], value))
    return message


def _as_field(kind: str, value: Any) -> Any:
    if kind.startswith("sequence<") or kind.endswith("]"):
        base = kind.removeprefix("sequence<").rstrip(">").split(",")[0].split("[")[0]
        if base == "uint8" and isinstance(value, str):
            return array("B", base64.b64decode(value))
        return [_as_field(base, item) for item in value]
    if "/" in kind:
        return as_message(interface(kind), value)
    if kind in ("double", "float"):
        return math.nan if value is None else float(value)
    return bytes([value]) if kind == "octet" else value
