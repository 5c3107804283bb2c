"""Limits of what an MCP server says of its tools: it may be a third party's, or have been taken over."""

import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar, cast

from quartet_process.errors import ToolListError

log = logging.getLogger(__name__)

MAX_PAGES = 100
MAX_TOOLS = 1000
MAX_TOOL_CHARS = 200_000
"""Characters of one tool: its name, description and schema of arguments."""
MAX_LIST_CHARS = 4_000_000
MAX_DEPTH = 40
"""Levels of a schema; those of our own tools have about ten."""


class Tool(Protocol):
    """A tool as the mcp package reads it."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def description(self) -> str | None: ...  # noqa: D102
    @property
    def input_schema(self) -> dict[str, Any]: ...  # noqa: D102


T = TypeVar("T", bound=Tool)


async def read_tools(server: str, page: Callable[[str | None], Awaitable[tuple[Sequence[T], str | None]]]) -> list[T]:
    """Return the tools of `server`.

    Args:
        server: Its name, for the log.
        page: Returns the page at a cursor (None: the first), and the cursor of the next one, if any.

    Raises:
        ToolListError: The list exceeds a limit, or a schema refers to another document. What `page` raises.
    """
    found: list[T] = []
    chars = 0
    cursor: str | None = None
    try:
        for _ in range(MAX_PAGES):
            tools, cursor = await page(cursor)
            if len(found) + len(tools) > MAX_TOOLS:
                raise ToolListError(f"its list has more than {MAX_TOOLS} tools")
            for tool in tools:
                chars += _chars_of(tool)
                if chars > MAX_LIST_CHARS:
                    raise ToolListError(f"its list of tools has more than {MAX_LIST_CHARS} characters")
                found.append(tool)
            if not cursor:
                return found
        raise ToolListError(f"its list of tools has more than {MAX_PAGES} pages")
    except ToolListError as error:
        log.warning("MCP server '%s': %s", server, error)
        raise


def _chars_of(tool: Tool) -> int:
    """Return the characters of a tool. Raises ToolListError for one that is too large, too deep or not complete."""
    for name, value in _entries(tool):
        # What checks arguments would fetch it, from wherever it says.
        if name in ("$ref", "$dynamicRef") and not str(value).startswith("#"):
            raise ToolListError(f"the schema of its tool '{tool.name[:100]}' refers to {str(value)[:100]!r}")
    chars = len(tool.name) + len(tool.description or "") + len(json.dumps(tool.input_schema))
    if chars > MAX_TOOL_CHARS:
        raise ToolListError(f"its tool '{tool.name[:100]}' has {chars} characters, at most {MAX_TOOL_CHARS} are taken")
    return chars


def _entries(tool: Tool) -> Iterator[tuple[str, Any]]:
    """Name and value of every entry of a tool's schema. Raises ToolListError for a schema that is too deep."""
    level: list[Any] = [tool.input_schema]
    for _ in range(MAX_DEPTH):
        deeper: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                entries = cast("dict[str, Any]", value)
                yield from entries.items()
                deeper += entries.values()
            elif isinstance(value, list):
                deeper += cast("list[Any]", value)
        level = [value for value in deeper if isinstance(value, dict | list)]
        if not level:
            return
    raise ToolListError(f"the schema of its tool '{tool.name[:100]}' has more than {MAX_DEPTH} levels")
