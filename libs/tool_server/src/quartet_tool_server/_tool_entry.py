"""A tool in its server: types of its arguments, effect on the robot, and its result as MCP carries it."""

import base64
import inspect
import math
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Annotated, Any, cast

import orjson
from fastmcp.tools import ToolResult as McpResult
from mcp_types import ContentBlock, ImageContent, TextContent
from pydantic import AfterValidator, Field, WithJsonSchema

from quartet_contracts.tools import ToolResult
from quartet_robot_link import Message

Finite = Annotated[float, Field(allow_inf_nan=False)]
"""A number; NaN and infinity are refused."""
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]

QUATERNION_TOLERANCE = 0.01
"""A quaternion that a model rounded to two decimals still passes; it is normalised."""


def _unit(q: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    norm = math.sqrt(sum(value * value for value in q))
    if abs(norm - 1.0) > QUATERNION_TOLERANCE:
        raise ValueError(
            f"not a unit quaternion: its norm is {norm:.4f}, valid is 1 +- {QUATERNION_TOLERANCE}; the order is "
            "x, y, z, w, and (1, 0, 0, 0) points the tool straight down"
        )
    return (q[0] / norm, q[1] / norm, q[2] / norm, q[3] / norm)


def numbers(count: int, **bounds: float) -> WithJsonSchema:
    """Return the schema of `count` numbers, each within `bounds`, for a tuple: model providers reject `prefixItems`.

    `bounds` are keywords of JSON Schema, such as `exclusiveMinimum`.
    """
    each = {"type": "number", **bounds}
    return WithJsonSchema({"type": "array", "items": each, "minItems": count, "maxItems": count})


Position = Annotated[tuple[Finite, Finite, Finite], numbers(3)]
"""x, y, z [m]."""
Orientation = Annotated[tuple[Finite, Finite, Finite, Finite], AfterValidator(_unit), numbers(4)]
"""Quaternion x, y, z, w; its norm must be 1."""


Function = Callable[..., Awaitable[ToolResult | McpResult]]
Limits = Callable[..., Awaitable[None] | None]
"""Takes a tool's arguments by name and raises InvalidArgumentsError for values that robot.yaml or site.yaml exclude."""
Goal = Callable[..., tuple[str, Message] | None]
"""Takes a tool's arguments by name and returns the action and goal that they amount to; None where nothing moves."""

Around = Callable[[], AbstractAsyncContextManager[None]]
"""What is entered before a tool runs, whoever serves it, and left after it."""


@dataclass(frozen=True)
class ToolEntry:
    """A tool as it is registered: what it takes, gives, and does to the robot."""

    name: str
    function: Function
    model: type[ToolResult]
    signature: inspect.Signature
    read_only: bool
    moves: str | None
    """Channel that it moves: base, arm or gripper."""
    cancels: str | None
    """Channel whose motions it cancels."""
    limits: Limits | None
    goal: Goal | None
    around: Around

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of its arguments."""
        return tuple(self.signature.parameters)

    @property
    def defaults(self) -> dict[str, Any]:
        """Arguments that may be left out, with what they are then."""
        return {key: item.default for key, item in self.signature.parameters.items() if item.default is not item.empty}


DECIMALS = 5
"""Floats of a result are rounded to this: 0.01 mm, and a third of the tokens."""


def as_tool_result(result: ToolResult | dict[str, Any], images: Sequence[tuple[bytes, str]] = ()) -> McpResult:
    """A result model (or the fields of a failed one) and (data, media type) of images as an MCP result.

    Fields without a value are left out; images follow the text in the given order.
    """
    fields = result.model_dump(mode="json", exclude_none=True) if isinstance(result, ToolResult) else result
    rounded = cast(dict[str, Any], _rounded(fields))
    content: list[ContentBlock] = [TextContent(type="text", text=orjson.dumps(rounded).decode())]
    content += [
        ImageContent(type="image", data=base64.b64encode(data).decode(), mime_type=media_type)
        for data, media_type in images
    ]
    return McpResult(content=content, structured_content=rounded)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in cast(dict[str, Any], value).items()}
    if isinstance(value, list):
        return [_rounded(item) for item in cast(list[Any], value)]
    return value
