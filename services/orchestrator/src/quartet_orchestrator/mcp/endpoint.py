"""MCP endpoint as an ASGI application. The MCP server is imported once the process serves, not before."""

import asyncio
import importlib
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from quartet_orchestrator.api.responses import problem_response
from quartet_orchestrator.mcp.service import McpTaskService

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


class McpEndpoint:
    """MCP over streamable HTTP without sessions: any replica answers any request. Requests wait until `run` serves."""

    def __init__(self, service: McpTaskService) -> None:
        self._service = service
        self._ready = asyncio.Event()
        self._app: ASGIApp | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set."""
        manager = await asyncio.to_thread(_manager, self._service)
        try:
            async with manager.run():
                self._app = manager.handle_request
                self._ready.set()
                await stop.wait()
                self._app = None
        finally:
            self._ready.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; 503 when the process ends."""
        await self._ready.wait()
        app = self._app or problem_response(
            503, "Shutting down", "this replica is shutting down; send the request again"
        )
        await app(scope, receive, send)


def _manager(service: McpTaskService) -> "StreamableHTTPSessionManager":
    server = importlib.import_module("quartet_orchestrator.mcp.server")
    manager = importlib.import_module("mcp.server.streamable_http_manager")
    return manager.StreamableHTTPSessionManager(server.build_server(service), stateless=True)
