"""Answers of an upstream, and their translation into results of our tools."""

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from fastmcp.tools import ToolResult as McpResult
from mcp_types import CallToolResult, ImageContent, TextContent
from pydantic import ValidationError

from quartet_contracts import describe
from quartet_contracts.tools import CommonCode, ToolResult
from quartet_tool_server._tool_entry import as_tool_result
from quartet_tool_server.errors import ToolError
from quartet_tool_server.upstream._conversions import Context
from quartet_tool_server.upstream._mapping import Condition, ErrorRule, MappedTool
from quartet_tool_server.upstream._values import MISSING, NotUnderstoodError, at, take

MAX_TEXT = 64 * 1024
"""Characters of an answer's text that are searched; a longer text is data, not an answer in words."""
SHOWN = 400
"""Characters of an answer that a message repeats."""
IMAGE_MAGIC = {"image/jpeg": b"\xff\xd8\xff", "image/png": b"\x89PNG\r\n\x1a\n"}


@dataclass(frozen=True)
class Answer:
    """An upstream's answer: its data where there are some, its text, its images (data, media type)."""

    data: dict[str, Any]
    text: str
    failed: bool = False
    images: Sequence[tuple[bytes, str]] = field(default=())

    def roots(self, arguments: dict[str, Any], robot: dict[str, Any]) -> dict[str, Any]:
        """For paths: the data, and the other roots."""
        images = [media_type for _, media_type in self.images]
        return {"": self.data, "$text": self.text, "$arguments": arguments, "$robot": robot, "$images": images}


def read(result: CallToolResult) -> Answer:
    """Return the answer: its data is the structured content, else a JSON object in the text.

    Raises NotUnderstoodError for images that are none. Servers that return plain text have it wrapped into
    {"result": text} by their library.
    """
    text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))[:MAX_TEXT]
    data: Any = result.structured_content
    if isinstance(data, dict) and set(cast(dict[str, Any], data)) == {"result"}:
        data = cast(dict[str, Any], data)["result"]
        text = data if isinstance(data, str) and not text else text
    if not isinstance(data, dict):
        data = _object(text)
    images = [_image(block) for block in result.content if isinstance(block, ImageContent)]
    return Answer(cast(dict[str, Any], data), text, bool(result.is_error), images)


def _object(text: str) -> dict[str, Any]:
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast(dict[str, Any], found) if isinstance(found, dict) else {}


def _image(block: ImageContent) -> tuple[bytes, str]:
    try:
        data = base64.b64decode(block.data, validate=True)
    except ValueError:
        data = b""
    for media_type, magic in IMAGE_MAGIC.items():
        if data.startswith(magic):
            return data, media_type
    raise NotUnderstoodError(f"an image that is neither JPEG nor PNG (it calls itself {block.mime_type[:40]})")


def passes(test: Condition, answer: Answer, roots: dict[str, Any]) -> bool:
    """Return whether `answer` meets every condition of `test`."""
    if test.text is not None and test.text.search(answer.text) is None:
        return False
    for path, wanted in test.where.items():
        valid: list[Any] = cast(list[Any], wanted) if isinstance(wanted, list) else [wanted]
        if not any(_same(at(path, roots), value) for value in valid):
            return False
    return all(at(path, roots) is not MISSING for path in test.has)


def _same(found: Any, wanted: Any) -> bool:
    """Equal, and not a truth value that happens to equal a number."""
    return found == wanted and isinstance(found, bool) == isinstance(wanted, bool)


def check(
    upstream: str,
    success: Sequence[Condition],
    errors: Sequence[ErrorRule],
    answer: Answer,
    roots: dict[str, Any],
    *,
    moved: bool,
) -> None:
    """Raises ToolError with the code of the first rule that fits, UNKNOWN unless the answer is a success."""
    said = f"'{upstream}' answered: {_shown(answer)}"
    for rule in errors:
        if passes(rule, answer, roots):
            raise ToolError(said, code=rule.code)
    if answer.failed or not any(passes(test, answer, roots) for test in success):
        raise unknown(f"{said}. The mapping does not say what that means", moved=moved)


async def judge(
    upstream: str,
    mapped: MappedTool,
    common: Sequence[ErrorRule],
    answer: Answer,
    roots: dict[str, Any],
    model: type[ToolResult],
    context: Context,
    *,
    moved: bool,
) -> McpResult:
    """Our result of an answer. Raises ToolError."""
    said = f"'{upstream}' answered: {_shown(answer)}"
    check(upstream, mapped.success, (*mapped.errors, *common), answer, roots, moved=moved)
    fields: dict[str, Any] = {"message": answer.text[:SHOWN] if not answer.data else ""}
    try:
        for name, value in mapped.result.items():
            found = await take(value, roots, context)
            if found is MISSING:
                if value.optional:
                    continue
                raise NotUnderstoodError(f"{value.source or name} is missing")
            if not _finite(found):
                raise NotUnderstoodError(f"{value.source or name} is not finite")
            fields[name] = found
        result = model.model_validate(fields)
    except NotUnderstoodError as error:
        raise unknown(f"{said}. It is not understood: {error}", moved=moved) from error
    except ValidationError as error:
        raise unknown(f"{said}. It is not understood: {describe(error)}", moved=moved) from error
    return as_tool_result(result, answer.images if mapped.images else ())


def unknown(text: str, *, moved: bool) -> ToolError:
    """UNKNOWN, with what to do about it."""
    remedy = "whether the robot moved is not known: look before doing it again" if moved else "do not rely on it"
    return ToolError(f"{text}; {remedy}.", code=CommonCode.UNKNOWN)


def _shown(answer: Answer) -> str:
    text = answer.text or json.dumps(answer.data, default=str)
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]} [... {len(text) - SHOWN} characters left out]")


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_finite, cast(dict[str, Any], value).values()))
    return all(map(_finite, cast(list[Any], value))) if isinstance(value, list) else True
