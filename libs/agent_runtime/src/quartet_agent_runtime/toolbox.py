"""The tools of several MCP servers as one set, named `<server>__<tool>`."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from quartet_agent_runtime._server import CallTimeout, Server, ServerLost, ServerRefused, ServerUnavailable
from quartet_agent_runtime.errors import ToolsUnavailable
from quartet_agent_runtime.outside import from_outside
from quartet_agent_runtime.overheard import Overheard
from quartet_agent_runtime.tools import Image, Progress, Specs, ToolOutcome, ToolSpec, failure
from quartet_contracts import MOTION_SERVERS
from quartet_process import tracing

if TYPE_CHECKING:
    from mcp_types import CallToolResult, InputRequiredResult

    from quartet_agent_runtime.approvals import Approver

T = TypeVar("T")
SEPARATOR = "__"
RESTART_S = 10.0
"""As long as a server takes to start again on a busy machine."""
RETRY_S = 0.25


class Toolbox:
    """Tools of `servers` (name to URL), called with `grant` as the bearer token.

    Shows the tools in `shown` and no others. One session per server, opened at the first use, and again when it was
    lost. The tools of a server are listed once: the mcp client checks results against the listed schemas, and lists
    again at every call of a tool that it does not know. A call that a server puts off until a person allows it is
    taken to the `approver` and made once more. What results call things is `overheard`.
    """

    def __init__(
        self,
        servers: Mapping[str, str],
        grant: str,
        shown: Iterable[str],
        timeout_s: float,
        approver: "Approver | None" = None,
        overheard: Overheard | None = None,
    ) -> None:
        self._servers = {name: Server(name, url, grant) for name, url in servers.items()}
        self._shown = tuple(shown)
        self._timeout_s = timeout_s
        self._approver = approver
        self._overheard = overheard
        self._gone: set[str] = set()
        """Servers that were waited for in vain: they are tried, and not waited for again."""

    async def __aenter__(self) -> "Toolbox":
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(server.close() for server in self._servers.values()))

    async def list(self) -> Specs:
        """The shown tools in their order. Raises ToolsUnavailable naming server or tool."""
        needed = list(dict.fromkeys(name.split(SEPARATOR, 1)[0] for name in self._shown))
        if unknown := [name for name in needed if name not in self._servers]:
            raise ToolsUnavailable(
                f"no URL for MCP server {', '.join(unknown)}; QUARTET_SERVERS has: {', '.join(self._servers) or 'none'}"
            )
        listings = await asyncio.gather(*(self._list_server(name) for name in needed))
        found = {f"{name}{SEPARATOR}{spec.name}": spec for name, specs in listings for spec in specs}
        if missing := [name for name in self._shown if name not in found]:
            raise ToolsUnavailable(
                f"MCP servers do not offer {', '.join(missing)}; run servers of the same version as the agents"
            )
        return [ToolSpec(name, found[name].description, found[name].schema) for name in self._shown]

    async def _list_server(self, name: str) -> tuple[str, Specs]:
        try:
            return name, await self._patiently(name, self._servers[name].list, RESTART_S)
        except (ServerUnavailable, ServerRefused, ServerLost) as error:
            raise ToolsUnavailable(str(error)) from error

    async def _patiently(self, name: str, work: Callable[[], Awaitable[T]], limit_s: float) -> T:
        """`work` once the server is there: one that is just being started again gets a moment, nothing was called."""
        end = time.monotonic() + (0.0 if name in self._gone else min(limit_s, RESTART_S))
        while True:
            try:
                result = await work()
            except ServerUnavailable:
                if time.monotonic() >= end:
                    self._gone.add(name)
                    raise
                await asyncio.sleep(RETRY_S)
            else:
                self._gone.discard(name)
                return result

    async def call(
        self, name: str, arguments: dict[str, Any], progress: Progress, timeout_s: float | None = None
    ) -> ToolOutcome:
        """Call a tool of any server here, shown or not; the grant decides what is allowed. See Tools.call."""
        about = {tracing.OPERATION: "execute_tool", tracing.TOOL: name[:100]}
        with tracing.span(f"execute_tool {name[:100]}", attributes=about) as one:
            outcome = await self._call(name, arguments, progress, timeout_s)
            if outcome.error_code != "NONE":
                tracing.failed(one, outcome.error_code)
            return outcome

    async def _call(
        self, name: str, arguments: dict[str, Any], progress: Progress, timeout_s: float | None
    ) -> ToolOutcome:
        server_name, _, tool = name.partition(SEPARATOR)
        server = self._servers.get(server_name)
        if server is None or not tool:
            return failure(
                "UNKNOWN_TOOL",
                f"there is no tool '{name}'; servers: {', '.join(self._servers)} (server{SEPARATOR}tool)",
            )
        limit_s = timeout_s or self._timeout_s
        try:
            result = await self._patiently(
                server_name, lambda: server.call(tool, arguments, progress, limit_s), limit_s
            )
            if result.result_type == "input_required" and self._approver is not None:
                responses = await self._approver.responses(name, arguments, cast("InputRequiredResult", result))
                result = await server.call(tool, arguments, progress, limit_s, responses)
        except ServerUnavailable as error:
            unavailable = failure("SERVER_UNAVAILABLE", str(error))
            return replace(unavailable, gone=server_name in MOTION_SERVERS)
        except ServerLost as error:
            return failure("SERVER_LOST", str(error), interrupted=True)
        except CallTimeout as error:
            return failure("TIMEOUT", str(error), interrupted=True)
        except ServerRefused as error:
            return failure("TOOL_ERROR", f"{name}: {error}")
        if result.result_type == "input_required":
            return failure("INPUT_REQUIRED", f"{name}: a person must allow this call, and none can be asked from here")
        outcome = _outcome(name, result)
        if self._overheard is not None:
            self._overheard.hear_names(outcome.content)
        return outcome


def _outcome(name: str, result: "CallToolResult") -> ToolOutcome:
    import base64

    texts = [block.text for block in result.content if block.type == "text"]
    images = [Image(base64.b64decode(block.data), block.mime_type) for block in result.content if block.type == "image"]
    raw: Any = result.structured_content
    structured = cast("dict[str, Any]", raw) if isinstance(raw, dict) else _json_object("\n".join(texts))
    if result.is_error:
        if structured is not None and structured.get("ok") is False:
            return ToolOutcome(from_outside(structured))
        error = failure("TOOL_ERROR", f"{name}: {' '.join(texts) or 'error without a text'}")
        return ToolOutcome(from_outside(error.content))
    if structured is None:
        structured = {"ok": True, "text": "\n".join(texts)}
    return ToolOutcome(from_outside(structured), images)


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
