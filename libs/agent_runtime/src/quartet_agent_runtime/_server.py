"""One MCP server over streamable HTTP.

The session lives in a task of its own, since its cancel scopes belong to the task that entered them; callers share it.
When the transport dies, this task ends, and every caller that waits for a result learns it at once.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, cast

import httpx2

from quartet_agent_runtime._arguments import checkable
from quartet_agent_runtime._heartbeats import Heartbeats
from quartet_agent_runtime._http import note_keepalive, open_client
from quartet_agent_runtime._kept_listings import KeptListings, Listing
from quartet_agent_runtime._tools import Progress, Specs, ToolSpec
from quartet_agent_runtime._untrusted import clean
from quartet_agent_runtime.errors import (
    CallTimeoutError,
    ServerLostError,
    ServerRefusedError,
    ServerUnavailableError,
)
from quartet_process.errors import ToolListError
from quartet_process.tool_lists import read_tools

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ElicitResult, InputRequiredResult, InputResponses, Tool

    from quartet_agent_runtime._mcp import ClientSession

HANDSHAKE_TIMEOUT_S = 30.0
"""On a busy machine a server that has just been started takes seconds until it lists its tools."""
CANCEL_GRACE_S = 1.0
MAX_EVENT_BYTES = 32 * 1024 * 1024
"""Images of two cameras fit; the mcp client caps an event at 1 MB, and an answer that is no stream not at all."""

T = TypeVar("T")


class Server:
    """The session with the MCP server `name` at `url`, opened at the first call, with `grant` as bearer token.

    The list of its tools is taken from `kept` where it is there, and put there where the server allows it.
    """

    def __init__(self, name: str, url: str, grant: str, kept: KeptListings) -> None:
        self.name = name
        self.url = url
        self._grant = grant
        self._kept = kept
        self._owner: asyncio.Task[None] | None = None
        self._session: ClientSession | None = None
        self._close = asyncio.Event()
        self._opening = asyncio.Lock()
        self._status: int | None = None
        self._listing: Listing | None = None
        self._was_kept = False
        """Whether this list is from an earlier session."""
        self._heartbeats = Heartbeats(url, grant)

    async def list(self) -> Specs:
        """Return all tools of the server, which is asked once. Raises ToolServerError."""
        return (await self._list()).specs

    def forget(self) -> bool:
        """Have the server asked again for its tools. Returns whether its list was one of an earlier session."""
        was_kept, self._listing, self._was_kept = self._was_kept, None, False
        self._kept.forget(self.url)
        return was_kept

    async def _list(self) -> Listing:
        if self._listing is None:
            # Also for a list that was kept: a server that is gone has to be known before a call is made.
            session = await self._open()
            kept = self._kept.get(self.url)
            self._was_kept = kept is not None
            self._listing = kept or await self._guarded(self._list_all(session), HANDSHAKE_TIMEOUT_S, "tools/list")
        return self._listing

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        progress: Progress,
        timeout_s: float,
        responses: "dict[str, ElicitResult] | None" = None,
    ) -> "CallToolResult | InputRequiredResult":
        """Call `tool` and return its result, or what the server asks first; `responses` answer that.

        Raises:
            ServerUnavailableError: No session could be opened; nothing was called.
            ServerLostError: The connection broke during the call.
            CallTimeoutError: The call took longer than `timeout_s` and was canceled.
            ServerRefusedError: The server answered with an error.
        """
        if self._session is None:
            self._listing = None
        # The list says which tools move the robot.
        listing = await self._list()
        session = await self._open()

        report = progress

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            await report(min(1.0, progress / total) if total else None, message or "")

        async with contextlib.nullcontext() if listing.reads(tool) else self._heartbeats.during():
            return await self._guarded(
                session.call_tool(
                    tool,
                    arguments,
                    progress_callback=on_progress,
                    input_responses=cast("InputResponses | None", responses),
                    allow_input_required=True,
                ),
                timeout_s,
                f"tool {tool}",
            )

    async def close(self) -> None:
        """End the session and wait until its task is gone, also where somebody else ends it just now."""
        await self._heartbeats.close()
        self._close.set()
        self._session = None
        if (owner := self._owner) is not None:
            done, _ = await asyncio.wait({owner}, timeout=CANCEL_GRACE_S)
            if not done:
                owner.cancel()
            await asyncio.gather(owner, return_exceptions=True)
            if self._owner is owner:
                self._owner = None

    async def _open(self) -> "ClientSession":
        async with self._opening:
            if self._session is not None and self._owner is not None and not self._owner.done():
                return self._session
            await self.close()
            self._close.clear()
            self._status = None
            ready: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
            owner = asyncio.create_task(self._own(ready), name=f"mcp-{self.name}")
            self._owner = owner
            done, _ = await asyncio.wait(
                {owner, ready}, timeout=HANDSHAKE_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED
            )
            if ready in done and not owner.done():
                self._session = ready.result()
                return self._session
            ready.cancel()
            why = f"no answer within {HANDSHAKE_TIMEOUT_S:.0f} s" if not done else self._why(owner)
            await self.close()
            raise ServerUnavailableError(
                f"MCP server '{self.name}' at {self.url} cannot be used: {why}. Start it or correct QUARTET_SERVERS; "
                "the next call tries again"
            )

    async def _own(self, ready: "asyncio.Future[ClientSession]") -> None:
        # Imported here: the mcp package costs half of the time in which an agent must be ready.
        from quartet_agent_runtime._mcp import streamable_http_client
        from quartet_agent_runtime._session import UncheckedSession

        async def note_status(response: httpx2.Response) -> None:
            if response.status_code >= httpx2.codes.BAD_REQUEST:
                self._status = response.status_code
            note_keepalive(http, response.headers)

        async with (
            open_client(
                self.url,
                most_bytes=MAX_EVENT_BYTES,
                event_streams=True,
                headers={"Authorization": f"Bearer {self._grant}"},
                event_hooks={"response": [note_status]},
            ) as http,
            streamable_http_client(self.url, http_client=http, max_sse_event_size=MAX_EVENT_BYTES) as (read, write),
            UncheckedSession(read, write) as session,
        ):
            await _handshake(session)
            if not ready.done():
                ready.set_result(session)
            await self._close.wait()

    async def _list_all(self, session: "ClientSession") -> Listing:
        from mcp_types import PaginatedRequestParams

        ttl_s: list[float] = []

        async def page(cursor: str | None) -> "tuple[list[Tool], str | None]":
            said = await session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
            # Servers of an older protocol know nothing of it, whatever they write there.
            ttl_s.append(said.ttl_ms / 1e3 if session.discover_result is not None else 0.0)
            return said.tools, said.next_cursor

        tools = await read_tools(self.name, page)
        listing = Listing(
            [
                ToolSpec(
                    tool.name,
                    clean(tool.description or ""),
                    checkable(tool.input_schema),
                    reads=bool(tool.annotations and tool.annotations.read_only_hint),
                )
                for tool in tools
            ]
        )
        self._kept.keep(self.url, listing, min(ttl_s))
        return listing

    async def _guarded(self, work: Coroutine[Any, Any, T], timeout_s: float, what: str) -> T:
        """Return the result of `work`, or raise why there is none: time-out, lost connection, refusal."""
        from mcp_types import CONNECTION_CLOSED

        from quartet_agent_runtime._mcp import MCPError

        owner = self._owner
        assert owner is not None
        call = asyncio.ensure_future(work)
        try:
            await asyncio.wait({call, owner}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self._cancel(call)
            raise
        if not call.done():
            lost = owner.done()
            await self._cancel(call)
            if lost:
                raise self._lost(what, owner)
            raise CallTimeoutError(
                f"MCP server '{self.name}' gave no result of {what} within {timeout_s:.0f} s; it was canceled. "
                "Its effect is not known: look at the world before doing it again"
            )
        try:
            return call.result()
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise self._lost(what, owner) from error
            self._kept.forget(self.url)
            if self._status in {401, 403}:
                raise ServerRefusedError(
                    f"MCP server '{self.name}' refused the grant (HTTP {self._status}); it may have expired"
                ) from error
            raise ServerRefusedError(f"MCP server '{self.name}': {error}") from error
        except asyncio.CancelledError:
            raise self._lost(what, owner) from None
        except ToolListError as error:
            raise ServerRefusedError(f"MCP server '{self.name}': {error}") from error
        except Exception as error:
            # Such as an answer that is none of the protocol.
            raise ServerRefusedError(f"MCP server '{self.name}': {type(error).__name__}: {error}") from error

    def _lost(self, what: str, owner: "asyncio.Task[None]") -> ServerLostError:
        self._session = None
        self._kept.forget(self.url)
        return ServerLostError(
            f"MCP server '{self.name}' at {self.url} was lost during {what} ({self._why(owner)}). Its effect is not "
            "known: look at the world before doing it again. Restart the server; the next call connects again"
        )

    async def _cancel(self, call: "asyncio.Future[Any]") -> None:
        """Cancel a running call and give its cancellation a moment to reach the server."""
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({call}, timeout=CANCEL_GRACE_S)
        if call.done() and not call.cancelled():
            call.exception()

    def _why(self, owner: "asyncio.Task[None]") -> str:
        """Return why `owner`, the task of the session, ended."""
        if not owner.done():
            return "connection closed"
        if self._status in {401, 403}:
            return f"HTTP {self._status}, it refused the grant"
        error = None if owner.cancelled() else owner.exception()
        while isinstance(error, BaseExceptionGroup):
            error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
        status = f", HTTP {self._status}" if self._status else ""
        return f"{type(error).__name__}: {error}{status}" if error else f"connection closed{status}"


async def _handshake(session: "ClientSession") -> None:
    """Agree on the newest protocol, where canceling a call closes its stream; older servers get the old handshake."""
    from quartet_agent_runtime._mcp import MCPError

    try:
        await session.discover()
    except (MCPError, RuntimeError):
        await session.initialize()
