"""A connection to an MCP server, with the `mcp` package alone: fastmcp's client brings 13 MB of which nothing is used.

The session's cancel scopes belong to the task that entered them, so a task of its own holds it and callers share it.
When the transport dies that task ends, and whoever waits for an answer learns it at once.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, TypeVar

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from quartet_process.bounded_answers import BoundedTransport

CONNECT_S = 5.0
CLOSE_WAIT_S = 3.0
CANCEL_WAIT_S = 1.0
"""For the word that a call is canceled to reach the server."""
MAX_EVENT_BYTES = 32 * 1024 * 1024
"""Pictures of two cameras fit; the library's own cap is 1 MB."""
MAX_ANSWER_BYTES = MAX_EVENT_BYTES
"""Of an answer that is no event stream; the library has no cap."""

T = TypeVar("T")
Target = contextlib.AbstractAsyncContextManager[Any]
"""Gives the two streams of a session."""


@contextlib.asynccontextmanager
async def over_http(url: str, headers: dict[str, str]) -> AsyncGenerator[Any]:
    """With room for pictures, without the caller's headers and without the proxies of the environment."""
    timeout = httpx2.Timeout(None, connect=CONNECT_S)
    transport = BoundedTransport(httpx2.AsyncHTTPTransport(trust_env=False), MAX_ANSWER_BYTES, event_streams=True)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, transport=transport, trust_env=False) as http,
        streamable_http_client(url, http_client=http, max_sse_event_size=MAX_EVENT_BYTES) as streams,
    ):
        yield streams


class Connection:
    """An open session; `await Connection.open(...)` makes one. Errors are those of the transport and of `mcp`."""

    def __init__(self, target: Target) -> None:
        self._closing = asyncio.Event()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(target), name="upstream")
        # Retrieved although nobody waits any more; otherwise asyncio logs an error.
        self._owner.add_done_callback(lambda task: task.cancelled() or task.exception())

    @classmethod
    async def open(cls, target: Target) -> "Connection":
        """A session that has shaken hands. Raises what kept it from that."""
        made = cls(target)
        try:
            await asyncio.wait({made._owner, made._ready}, return_when=asyncio.FIRST_COMPLETED)
            if not made._ready.done():
                raise made._end()
        except BaseException:
            await made.close()
            raise
        return made

    @property
    def alive(self) -> bool:
        """Whether the session is still open."""
        return not self._owner.done()

    async def ask(self, work: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        """Return what `work` returns; canceling this cancels it at the server.

        Raises what `work` raises, and at once when the connection is lost.
        """
        call = asyncio.ensure_future(work(self._ready.result()))
        try:
            await asyncio.wait({call, self._owner}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await _cancel(call)
            raise
        if not call.done() or call.cancelled():
            await _cancel(call)
            raise self._end()
        return call.result()

    async def close(self) -> None:
        """End the session, by force where the server does not answer."""
        self._closing.set()
        done, _ = await asyncio.wait({self._owner}, timeout=CLOSE_WAIT_S)
        if not done:
            self._owner.cancel()
            await asyncio.wait({self._owner})

    async def _own(self, target: Target) -> None:
        async with Client(target, cache=None) as client:
            client.session.validate_tool_result = _take_any
            if not self._ready.done():
                self._ready.set_result(client)
            await self._closing.wait()

    def _end(self) -> BaseException:
        """Return the error that ended the session."""
        error = self._owner.exception() if self._owner.done() and not self._owner.cancelled() else None
        return error or ConnectionError("the connection was closed")


async def _take_any(name: str, result: CallToolResult) -> None:
    """Take any result: the mapping judges it.

    The upstream's own schema for it is no reason to believe it, and may be made to be checked for ever.
    """


async def _cancel(call: "asyncio.Future[Any]") -> None:
    call.cancel()
    await asyncio.wait({call}, timeout=CANCEL_WAIT_S)
    if call.done() and not call.cancelled():
        call.exception()
