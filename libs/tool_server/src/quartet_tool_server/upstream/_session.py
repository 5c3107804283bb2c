"""A session with an upstream, opened at the first call and again after it was lost.

Errors: UpstreamError
├── UpstreamUnavailableError   no session could be opened, or there is no such tool; nothing was called
└── UpstreamLostError          the connection broke during a call, or the answer is no MCP result; effect unknown
"""

import asyncio
import os
from typing import Any, cast

from mcp import Client
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent, Tool

from quartet_process.tool_lists import read_tools
from quartet_tool_server.errors import ToolServerError
from quartet_tool_server.upstream._connection import MAX_EVENT_BYTES, Connection, Target, over_http
from quartet_tool_server.upstream._mapping import Upstream
from quartet_tool_server.upstream._stdio import over_stdio

START_TIMES = 10
"""Times its connect_timeout_s after which a command that has not answered yet is ended, to be started anew."""


class UpstreamError(ToolServerError):
    """The upstream could not be asked, or not to the end."""


class UpstreamUnavailableError(UpstreamError):
    """Nothing was called."""


class UpstreamLostError(UpstreamError):
    """The effect of the call is not known."""


class Session:
    """The upstream `name`. Raises what the module names; never anything else of the library."""

    def __init__(self, name: str, upstream: Upstream) -> None:
        self.name, self._upstream = name, upstream
        self._connection: Connection | None = None
        self._opening = asyncio.Lock()
        self._starting: asyncio.Task[Connection] | None = None
        """Start of a command, which goes on when the call that wanted it has given up."""
        self._tools: dict[str, set[str]] = {}

    @property
    def connected(self) -> bool:
        """Whether a session is open."""
        return self._connection is not None and self._connection.alive

    async def tools(self) -> dict[str, set[str]]:
        """Its tools with the names of their arguments, as they were when the session was opened."""
        await self._open()
        return self._tools

    async def call(self, tool: str, arguments: dict[str, Any], progress: ProgressFnT | None = None) -> CallToolResult:
        """Call a tool and return its answer; canceling this cancels the call at the upstream.

        Raises UpstreamUnavailableError, UpstreamLostError.
        """
        connection = await self._open()
        if tool not in self._tools:
            raise UpstreamUnavailableError(
                f"'{self.name}' has no tool '{tool}'; it has: {', '.join(sorted(self._tools))}. Mend the mapping file"
            )
        try:
            return await connection.ask(lambda client: client.call_tool(tool, arguments, progress_callback=progress))
        except MCPError as error:
            if error.code == INVALID_PARAMS:
                # It is well and refuses this call: an answer like any other.
                return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)
            # Also where only the session has ended, such as by a restart: the next call opens one.
            await self._drop(connection)
            raise UpstreamLostError(f"'{self.name}' was lost during {tool} ({error})") from error
        except Exception as error:
            await self._drop(connection)
            raise UpstreamLostError(f"'{self.name}' was lost during {tool} ({_why(error)})") from error

    async def close(self) -> None:
        """End the session."""
        if self._starting is not None:
            self._starting.cancel()
            started = await self._end_of_start()
            if isinstance(started, Connection):
                await started.close()
        if self._connection is not None:
            await self._drop(self._connection)

    async def _open(self) -> Connection:
        async with self._opening:
            if self._connection is not None and self._connection.alive:
                return self._connection
            if self._starting is None:
                await self.close()
            target = self._target()
            try:
                async with asyncio.timeout(self._upstream.connect_timeout_s):
                    if self._upstream.command is None:
                        self._connection = await self._connect(target)
                    else:
                        self._connection = await self._started(target)
            except Exception as error:
                raise UpstreamUnavailableError(
                    f"'{self.name}' at {self._where} cannot be used: {self._why_not_open(error)}"
                ) from error
            return self._connection

    async def _connect(self, target: Target) -> Connection:
        opened = await Connection.open(target)
        try:
            self._tools = await opened.ask(self._list)
        except BaseException:
            await opened.close()
            raise
        return opened

    async def _list(self, client: Client) -> dict[str, set[str]]:
        async def page(cursor: str | None) -> tuple[list[Tool], str | None]:
            said = await client.list_tools(cursor=cursor)
            return said.tools, said.next_cursor

        tools = await read_tools(self.name, page)
        return {tool.name: set(tool.input_schema.get("properties", {})) for tool in tools}

    async def _started(self, target: Target) -> Connection:
        """Return the connection to a command, which is started unless it is starting already.

        A process that needs longer than a call waits would never be up if each call ended it and began anew.
        """
        if self._starting is not None:
            await asyncio.wait({self._starting})
            started = await self._end_of_start()
            if isinstance(started, Connection) and started.alive:
                return started
            # It has failed or died while no call waited for it, so that no call is lost.
            if isinstance(started, Connection):
                await started.close()
        most_s = START_TIMES * self._upstream.connect_timeout_s
        self._starting = asyncio.create_task(asyncio.wait_for(self._connect(target), most_s))
        await asyncio.wait({self._starting})
        started = await self._end_of_start()
        if isinstance(started, BaseException):
            raise started
        return started

    async def _end_of_start(self) -> Connection | BaseException:
        """Return what came of the start that has ended, which is none any more."""
        assert self._starting is not None
        starting, self._starting = self._starting, None
        (started,) = await asyncio.gather(starting, return_exceptions=True)
        return started

    def _why_not_open(self, error: Exception) -> str:
        if self._starting is not None:
            return f"it has not answered within {self._upstream.connect_timeout_s:g} s, and goes on starting"
        return _why(error)

    def _target(self) -> Target:
        chosen = self._upstream
        if chosen.command is not None:
            return over_stdio(chosen.command, chosen.env, chosen.cwd, MAX_EVENT_BYTES)
        token = os.environ.get(chosen.token_env, "") if chosen.token_env else ""
        if chosen.token_env and not token:
            raise UpstreamUnavailableError(
                f"'{self.name}' needs a token: set {chosen.token_env} in this server's environment"
            )
        return over_http(str(chosen.url), {"Authorization": f"Bearer {token}"} if token else {})

    @property
    def _where(self) -> str:
        return self._upstream.url or " ".join(self._upstream.command or [])

    async def _drop(self, connection: Connection) -> None:
        if self._connection is connection:
            self._connection = None
        await connection.close()


def _why(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = cast(BaseExceptionGroup[BaseException], error).exceptions[0]
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
