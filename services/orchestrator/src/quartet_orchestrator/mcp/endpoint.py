"""The MCP endpoint as an ASGI application; what it needs is imported once the process serves, not before."""

import asyncio
import importlib
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from quartet_orchestrator.api.problems import problem_response
from quartet_orchestrator.mcp.desk import McpDesk

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


class McpEndpoint:
    """Streamable HTTP, without sessions: any replica answers any request. Requests wait until `run` has begun."""

    def __init__(self, desk: McpDesk) -> None:
        self._desk = desk
        self._ready = asyncio.Event()
        self._app: ASGIApp | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop`."""
        manager = await asyncio.to_thread(_manager, self._desk)
        try:
            async with manager.run():
                self._app = manager.handle_request
                self._ready.set()
                await stop.wait()
                self._app = None
        finally:
            self._ready.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._ready.wait()
        app = self._app or problem_response(503, "Shutting down", "this replica ends; ask again")
        await app(scope, receive, send)


def _manager(desk: McpDesk) -> "StreamableHTTPSessionManager":
    server = importlib.import_module("quartet_orchestrator.mcp.server")
    manager = importlib.import_module("mcp.server.streamable_http_manager")
    return manager.StreamableHTTPSessionManager(server.build_server(desk), stateless=True)
