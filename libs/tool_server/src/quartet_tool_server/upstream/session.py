"""A session with an upstream, opened at the first call and again after it was lost.

Errors: UpstreamError
├── Unavailable   no session could be opened, or there is no such tool; nothing was called
└── Lost          the connection broke during a call, or the answer is no MCP result; its effect is not known
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator
from typing import Any, cast

import httpx2
from fastmcp import Client
from fastmcp.client.progress import ProgressHandler
from fastmcp.client.transports import ClientTransport, StdioTransport, StreamableHttpTransport
from fastmcp.client.transports.base import SessionKwargs, TransportOptions
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent
from typing_extensions import Unpack

from quartet_tool_server.upstream.mapping import Upstream

log = logging.getLogger(__name__)

MAX_EVENT_BYTES = 32 * 1024 * 1024
"""Pictures of two cameras fit; the library's own cap is 1 MB."""
CLOSE_WAIT_S = 3.0


class UpstreamError(Exception):
    """The upstream could not be asked, or not to the end."""


class Unavailable(UpstreamError):
    """Nothing was called."""


class Lost(UpstreamError):
    """The effect of the call is not known."""


class _Http(StreamableHttpTransport):
    """With room for pictures, without the caller's headers and without the proxies of the environment."""

    @contextlib.asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncGenerator[ClientSession]:
        options = transport_options or TransportOptions()
        async with (
            httpx2.AsyncClient(
                headers=self.headers, timeout=httpx2.Timeout(None, connect=5.0), trust_env=False
            ) as http,
            streamable_http_client(self.url, http_client=http, max_sse_event_size=MAX_EVENT_BYTES) as (read, write),
            options.session_class(read, write, **session_kwargs) as session,
        ):
            yield session


class Session:
    """The upstream `name`. Raises what the module names; never anything else of the library."""

    def __init__(self, name: str, upstream: Upstream) -> None:
        self.name, self._upstream = name, upstream
        self._client: Client[Any] | None = None
        self._opening = asyncio.Lock()
        self._tools: dict[str, set[str]] = {}

    @property
    def connected(self) -> bool:
        return self._client is not None and self._client.is_connected()

    async def tools(self) -> dict[str, set[str]]:
        """Its tools with the names of their arguments, as they were when the session was opened."""
        await self._open()
        return self._tools

    async def call(
        self, tool: str, arguments: dict[str, Any], progress: ProgressHandler | None = None
    ) -> CallToolResult:
        """One call to its end; who cancels it has it canceled at the upstream. Raises Unavailable, Lost."""
        client = await self._open()
        if tool not in self._tools:
            raise Unavailable(
                f"'{self.name}' has no tool '{tool}'; it has: {', '.join(sorted(self._tools))}. Mend the mapping file"
            )
        try:
            return await client.call_tool_mcp(tool, arguments, progress_handler=progress)
        except MCPError as error:
            if error.code == INVALID_PARAMS:
                # It is well and refuses this call: an answer like any other.
                return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)
            # Also where only the session has ended, such as by a restart: the next call opens one.
            await self._drop(client)
            raise Lost(f"'{self.name}' was lost during {tool} ({error})") from error
        except Exception as error:
            await self._drop(client)
            raise Lost(f"'{self.name}' was lost during {tool} ({_why(error)})") from error

    async def close(self) -> None:
        """End the session."""
        if self._client is not None:
            await self._drop(self._client)

    async def _open(self) -> Client[Any]:
        async with self._opening:
            if self._client is not None and self._client.is_connected():
                return self._client
            await self.close()
            client = Client(self._transport(), auto_initialize=True)
            try:
                async with asyncio.timeout(self._upstream.connect_timeout_s):
                    await client.__aenter__()
                    listed = await client.list_tools()
            except Exception as error:
                await self._end(client)
                raise Unavailable(f"'{self.name}' at {self._where} cannot be used: {_why(error)}") from error
            except BaseException:
                await self._end(client)
                raise
            self._tools = {tool.name: set(tool.input_schema.get("properties", {})) for tool in listed}
            self._client = client
            return client

    def _transport(self) -> ClientTransport:
        chosen = self._upstream
        if chosen.command is not None:
            inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
            command, *rest = chosen.command
            cwd = None if chosen.cwd is None else str(chosen.cwd)
            return StdioTransport(command, rest, env=inherited | chosen.env, cwd=cwd, keep_alive=False)
        token = os.environ.get(chosen.token_env, "") if chosen.token_env else ""
        if chosen.token_env and not token:
            raise Unavailable(f"'{self.name}' needs a token: set {chosen.token_env} in this server's environment")
        return _Http(str(chosen.url), headers={"Authorization": f"Bearer {token}"} if token else {})

    @property
    def _where(self) -> str:
        return self._upstream.url or " ".join(self._upstream.command or [])

    async def _drop(self, client: Client[Any]) -> None:
        if self._client is client:
            self._client = None
        await self._end(client)

    async def _end(self, client: Client[Any]) -> None:
        try:
            async with asyncio.timeout(CLOSE_WAIT_S):
                await client.close()
        except Exception as error:
            log.debug("session with '%s' ended with %s", self.name, _why(error))


def _why(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = cast(BaseExceptionGroup[BaseException], error).exceptions[0]
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
