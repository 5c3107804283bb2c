"""Results of tools as MCP carries them: structured content, compact text beside it, images."""

import base64
from collections.abc import Sequence
from typing import Any, cast

import orjson
from fastmcp.tools import ToolResult as McpResult
from mcp_types import ContentBlock, ImageContent, TextContent

from quartet_contracts.tools import ToolResult

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
