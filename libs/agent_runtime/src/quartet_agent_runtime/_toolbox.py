"""The tools of several MCP servers as one set, named `<server>__<tool>`."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

from quartet_agent_runtime._kept_listings import KeptListings
from quartet_agent_runtime._server import Server
from quartet_agent_runtime._tools import Image, Progress, Specs, ToolOutcome, ToolSpec, failure
from quartet_agent_runtime._untrusted import UntrustedPhrases, mark_untrusted
from quartet_agent_runtime.errors import (
    CallTimeoutError,
    ServerLostError,
    ServerRefusedError,
    ServerUnavailableError,
    ToolServerError,
    ToolsUnavailableError,
)
from quartet_contracts import MOTION_SERVERS
from quartet_contracts.skills import Withdrawn
from quartet_contracts.tools import CommonCode
from quartet_process import tracing

if TYPE_CHECKING:
    from mcp_types import CallToolResult, InputRequiredResult

    from quartet_agent_runtime._approvals import ApprovalRequester

T = TypeVar("T")
R = TypeVar("R", bound="CallToolResult | InputRequiredResult")
Call = Callable[[Progress], Awaitable[ToolOutcome]]
"""Makes a call with its arguments, and tells of its progress."""
Surround = Callable[[dict[str, Any], Progress, Call], Awaitable[ToolOutcome]]
"""Makes a call with these arguments by its last argument, and does what has to happen before and beside it."""
SEPARATOR = "__"
WITHDRAWN = frozenset(get_args(Withdrawn))
RESTART_S = 10.0
"""How long a server takes to restart on a busy machine."""
RETRY_S = 0.25
BRIDGE_RETRY_S = 0.5
MAX_SHOWN_CHARS = 100_000
"""Of the descriptions and schemas of all tools that a model is shown: no server may fill the prompt."""


class Toolbox:
    """Tools of `servers` (name to URL), called with `grant` as the bearer token.

    Shows the model the tools in `shown` and no others. One session per server, opened at the first use, and again when
    it was lost. The tools of a server are listed once. For a call that a server puts off until a person allows
    it, the `approver` asks, and the call is made once more. Names in results are added to `untrusted`. Lists of tools
    are kept in `kept` as long as their servers allow it; the toolboxes of one caller may share it.
    """

    def __init__(
        self,
        servers: Mapping[str, str],
        grant: str,
        shown: Iterable[str],
        timeout_s: float,
        approver: "ApprovalRequester | None" = None,
        untrusted: UntrustedPhrases | None = None,
        kept: KeptListings | None = None,
        bridge_wait_s: float = 0.0,
    ) -> None:
        """Make a toolbox without sessions. bridge_wait_s: how long a call that only reads waits for a lost bridge."""
        kept = kept or KeptListings()
        self._servers = {name: Server(name, url, grant, kept) for name, url in servers.items()}
        self._shown = tuple(shown)
        self._timeout_s = timeout_s
        self._approver = approver
        self._untrusted = untrusted
        self._surrounds: dict[str, Surround] = {}
        self._bridge_wait_s = bridge_wait_s
        self._bridge_gone = False
        """The bridge stayed away: the calls that follow do not wait for it again."""
        self._gone: set[str] = set()
        """Servers that did not come back while they were waited for: they are tried, and not waited for again."""
        self.withdrawn: Withdrawn | None = None
        """The code with which a server last withdrew the robot; after DENIED, a call that succeeds takes it back."""

    async def __aenter__(self) -> "Toolbox":
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(server.close() for server in self._servers.values()))

    def surround(self, name: str, surround: Surround) -> None:
        """Have every call of a tool made by `surround`."""
        self._surrounds[name] = surround

    async def list(self) -> Specs:
        """Return the shown tools in their order. Raises ToolsUnavailableError naming server or tool."""
        needed = list(dict.fromkeys(name.split(SEPARATOR, 1)[0] for name in self._shown))
        if unknown := [name for name in needed if name not in self._servers]:
            raise ToolsUnavailableError(
                f"no URL for MCP server {', '.join(unknown)}; QUARTET_SERVERS has: {', '.join(self._servers) or 'none'}"
            )
        found = await self._list_all(needed)
        missing = [name for name in self._shown if name not in found]
        # What was kept may be older than the server, or than what the grant covers.
        if missing and [name for name in needed if self._servers[name].forget()]:
            found = await self._list_all(needed)
            missing = [name for name in self._shown if name not in found]
        if missing:
            raise ToolsUnavailableError(
                f"MCP servers do not offer {', '.join(missing)}; run servers of the same version as the agents"
            )
        # What surrounds a tool may do more than the tool.
        shown = [
            replace(found[name], name=name, reads=found[name].reads and name not in self._surrounds)
            for name in self._shown
        ]
        chars = sum(len(spec.description) + len(json.dumps(spec.schema)) for spec in shown)
        if chars > MAX_SHOWN_CHARS:
            raise ToolsUnavailableError(
                f"the tools of {', '.join(needed)} are described in {chars} characters, at most {MAX_SHOWN_CHARS} go "
                "into a prompt; run servers of the same version as the agents"
            )
        return shown

    async def _list_all(self, needed: Iterable[str]) -> dict[str, ToolSpec]:
        """Return the tools of the servers `needed` by their name here. Raises ToolsUnavailableError."""
        asked = [asyncio.create_task(self._list_server(name)) for name in needed]
        try:
            listings = await asyncio.gather(*asked)
        finally:
            # The first that is given up ends it for the others too: none may open a session after this toolbox is left.
            for one in asked:
                one.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        return {f"{name}{SEPARATOR}{spec.name}": spec for name, specs in listings for spec in specs}

    async def _list_server(self, name: str) -> tuple[str, Specs]:
        try:
            return name, await self._patiently(name, self._servers[name].list, RESTART_S)
        except ToolServerError as error:
            raise ToolsUnavailableError(str(error)) from error

    async def _patiently(self, name: str, work: Callable[[], Awaitable[T]], limit_s: float) -> T:
        """Return the result of `work`, repeated while the server cannot be reached: it may be restarting."""
        end = time.monotonic() + (0.0 if name in self._gone else min(limit_s, RESTART_S))
        while True:
            try:
                result = await work()
            except ServerUnavailableError:
                if time.monotonic() >= end:
                    self._gone.add(name)
                    raise
                await asyncio.sleep(RETRY_S)
            else:
                self._gone.discard(name)
                return result

    async def _over_bridge(self, name: str, tool: str, work: Callable[[], Awaitable[R]], limit_s: float) -> R:
        """Return the result of `work`; if `tool` only reads, it is repeated while the robot's bridge is away."""
        result = await self._patiently(name, work, limit_s)
        if not _lost_bridge(result):
            self._bridge_gone = False
            return result
        if not any(s.reads for s in await self._servers[name].list() if s.name == tool):
            return result
        end = time.monotonic() + (0.0 if self._bridge_gone else min(limit_s, self._bridge_wait_s))
        while _lost_bridge(result) and time.monotonic() < end:
            await asyncio.sleep(BRIDGE_RETRY_S)
            result = await work()
        self._bridge_gone = _lost_bridge(result)
        return result

    async def call(
        self, name: str, arguments: dict[str, Any], progress: Progress, timeout_s: float | None = None
    ) -> ToolOutcome:
        """Call a tool of any server here, shown or not; the grant decides what is allowed. See Tools.call."""

        async def make(progress: Progress) -> ToolOutcome:
            return await self._traced(name, arguments, progress, timeout_s)

        surround = self._surrounds.get(name)
        return await (make(progress) if surround is None else surround(arguments, progress, make))

    async def _traced(
        self, name: str, arguments: dict[str, Any], progress: Progress, timeout_s: float | None
    ) -> ToolOutcome:
        about = {tracing.OPERATION: "execute_tool", tracing.TOOL: name[:100]}
        with tracing.span(f"execute_tool {name[:100]}", attributes=about) as one:
            outcome = await self._call(name, arguments, progress, timeout_s)
            if outcome.error_code in WITHDRAWN:
                self.withdrawn = cast("Withdrawn", outcome.error_code)
            elif outcome.ok and self.withdrawn == "DENIED":
                self.withdrawn = None
            if outcome.error_code != "NONE":
                tracing.mark_failed(one, outcome.error_code)
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
            result = await self._over_bridge(
                server_name, tool, lambda: server.call(tool, arguments, progress, limit_s), limit_s
            )
            if result.result_type == "input_required" and self._approver is not None:
                responses = await self._approver.responses(name, arguments, cast("InputRequiredResult", result))
                result = await server.call(tool, arguments, progress, limit_s, responses)
        except ServerUnavailableError as error:
            unavailable = failure("SERVER_UNAVAILABLE", str(error))
            return replace(unavailable, gone=server_name in MOTION_SERVERS)
        except ServerLostError as error:
            return failure("SERVER_LOST", str(error), interrupted=True)
        except CallTimeoutError as error:
            return failure("TIMEOUT", str(error), interrupted=True)
        except ServerRefusedError as error:
            return failure("TOOL_ERROR", f"{name}: {error}")
        if result.result_type == "input_required":
            return failure("INPUT_REQUIRED", f"{name}: a person must allow this call, and none can be asked from here")
        outcome = _outcome(name, result)
        if self._untrusted is not None:
            self._untrusted.add_names_in(outcome.content)
        return outcome


def _lost_bridge(result: "CallToolResult | InputRequiredResult") -> bool:
    content: Any = None if result.result_type == "input_required" else result.structured_content
    fields = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
    return fields.get("error_code") == CommonCode.BRIDGE_UNAVAILABLE


def _outcome(name: str, result: "CallToolResult") -> ToolOutcome:
    import base64

    texts = [block.text for block in result.content if block.type == "text"]
    images = [Image(base64.b64decode(block.data), block.mime_type) for block in result.content if block.type == "image"]
    raw: Any = result.structured_content
    structured = cast("dict[str, Any]", raw) if isinstance(raw, dict) else _json_object("\n".join(texts))
    if result.is_error:
        if structured is not None and structured.get("ok") is False:
            return ToolOutcome(mark_untrusted(structured))
        error = failure("TOOL_ERROR", f"{name}: {' '.join(texts) or 'error without a text'}")
        return ToolOutcome(mark_untrusted(error.content))
    if structured is None:
        structured = {"ok": True, "text": "\n".join(texts)}
    return ToolOutcome(mark_untrusted(structured), images)


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
