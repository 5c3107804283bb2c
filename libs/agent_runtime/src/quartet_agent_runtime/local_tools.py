"""Tools that are callables of the same process."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from quartet_agent_runtime.tools import Progress, Specs, ToolOutcome, ToolSpec, failure

Handler = Callable[[dict[str, Any], Progress], Awaitable[ToolOutcome]]


@dataclass(frozen=True)
class LocalTool:
    spec: ToolSpec
    handler: Handler
    """Gets arguments that fit the schema."""


class LocalTools:
    """A fixed set of LocalTool, by name."""

    def __init__(self, tools: Iterable[LocalTool]) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}

    async def list(self) -> Specs:
        return [tool.spec for tool in self._tools.values()]

    async def call(self, name: str, arguments: dict[str, Any], progress: Progress) -> ToolOutcome:
        tool = self._tools.get(name)
        if tool is None:
            return failure("UNKNOWN_TOOL", f"there is no tool '{name}'; valid: {', '.join(sorted(self._tools))}")
        return await tool.handler(arguments, progress)
