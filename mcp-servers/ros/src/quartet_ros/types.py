"""Message definitions, and messages checked against them: a bridge drops a wrong one without a word."""

import math
from typing import Any, cast

from quartet_contracts.tools.ros import Field, Structure
from quartet_robot_link import Message, Robot
from quartet_robot_link.permits import plain
from quartet_ros.graph import ROSAPI_S
from quartet_tool_server import InvalidArgumentsError

_INTEGERS = {
    f"{sign}int{bits}": (0 if sign else -(1 << bits - 1), (1 << (bits if sign else bits - 1)) - 1)
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
} | {"byte": (0, 255), "octet": (0, 255), "char": (0, 255)}
_FLOATS = {"float", "double", "float32", "float64"}
_BOOLS = {"bool", "boolean"}
_TEXTS = {"string", "wstring"}
_PRIMITIVES = {*_INTEGERS, *_FLOATS, *_BOOLS, *_TEXTS}
_BINARY = {"uint8", "char", "octet", "byte"}
MAX_DEPTH = 16
MAX_STRUCTURES = 60
"""Types shown of one definition."""


def structures(response: Message) -> list[Structure]:
    """Return the typedefs of rosapi in the form that a model is given."""
    return [
        Structure(
            type=str(part["type"]),
            fields=[
                Field(name=name, type=type_name, array_length=length)
                for name, type_name, length in zip(
                    part["fieldnames"], part["fieldtypes"], part["fieldarraylen"], strict=True
                )
            ],
        )
        for part in response.get("typedefs") or []
    ]


async def message_structures(robot: Robot, msg_type: str) -> list[Structure]:
    """Definition of a type that is known to exist, and of the types inside."""
    return structures(await robot.link.call_service("/rosapi/message_details", {"type": msg_type}, timeout_s=ROSAPI_S))


class Checker:
    """Checks a message, and keeps the Twists that it meets in `twists`."""

    def __init__(self, known: list[Structure]) -> None:
        self._known = {plain(part.type): part for part in known}
        self.twists: list[Message] = []

    def check(self, msg_type: str, value: Any, at: str = "msg") -> None:
        """Raises InvalidArgumentsError that names the field, its value and what is valid."""
        self._struct(plain(msg_type), value, at, 0)

    def _struct(self, type_name: str, value: Any, at: str, depth: int) -> None:
        part = self._known.get(type_name)
        if not isinstance(value, dict):
            raise InvalidArgumentsError(f"{at}: {_short(value)} is not an object of type {type_name}")
        message = cast(Message, value)
        if part is None or depth > MAX_DEPTH:
            finite(message, at)
            return
        if type_name == "geometry_msgs/Twist":
            self.twists.append(message)
        fields = {field.name: field for field in part.fields}
        for name, item in message.items():
            field = fields.get(name)
            if field is None:
                raise InvalidArgumentsError(
                    f"{at}: {type_name} has no field '{name}'; valid: {', '.join(fields) or 'none'}"
                )
            self._field(field, item, f"{at}.{name}", depth)

    def _field(self, field: Field, value: Any, at: str, depth: int) -> None:
        base = field.type.partition(",")[0].partition("<")[0]
        if field.array_length < 0:
            self._single(base, value, at, depth)
            return
        if base in _BINARY and isinstance(value, str):
            return  # base64
        if not isinstance(value, list):
            raise InvalidArgumentsError(f"{at}: {_short(value)} is not an array of {base}")
        items = cast(list[Any], value)
        if field.array_length and len(items) != field.array_length:
            raise InvalidArgumentsError(f"{at}: has {len(items)} values, valid: exactly {field.array_length}")
        for number, item in enumerate(items):
            self._single(base, item, f"{at}[{number}]", depth)

    def _single(self, base: str, value: Any, at: str, depth: int) -> None:
        if base not in _PRIMITIVES:
            self._struct(plain(base), value, at, depth + 1)
        elif base in _BOOLS:
            _expect(isinstance(value, bool), value, at, "true or false")
        elif base in _TEXTS:
            _expect(isinstance(value, str), value, at, "a text")
        else:
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            _expect(number, value, at, "a finite number")
            if base in _INTEGERS:
                low, high = _INTEGERS[base]
                _expect(isinstance(value, int) and low <= value <= high, value, at, f"an integer, {low} to {high}")


def finite(value: Any, at: str) -> None:
    """Raises InvalidArgumentsError for NaN, infinity, and null, which they become in JSON, anywhere inside."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        raise InvalidArgumentsError(
            f"{at}: {value} is not valid; numbers must be finite, and what has no value is left out"
        )
    if isinstance(value, dict):
        for name, item in cast(Message, value).items():
            finite(item, f"{at}.{name}")
    elif isinstance(value, list):
        for number, item in enumerate(cast(list[Any], value)):
            finite(item, f"{at}[{number}]")


def _expect(good: bool, value: Any, at: str, valid: str) -> None:
    if not good:
        raise InvalidArgumentsError(f"{at}: {_short(value)} is not valid; valid: {valid}")


def _short(value: Any) -> str:
    return repr(value)[:80]
