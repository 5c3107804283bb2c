"""Notices that the caller of a running tool has gone, and lets callers notice that this server has.

mcp runs a tool of a handshake-era session to its end also when its caller's connection is closed; a motion must not
go on that nobody follows.
"""

import asyncio

from fastmcp.server.dependencies import get_http_request
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quartet_contracts import KEEPALIVE_HEADER

_KEY = "quartet.caller_gone"
KEEPALIVE_S = 15.0
"""While a tool runs, mcp writes at least a comment this often."""


class DisconnectWatch:
    """ASGI middleware: sets an event when the connection of a request closes before its response is complete.

    Tells the caller how often something is written meanwhile.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request and watch its connection."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        gone = scope[_KEY] = asyncio.Event()
        complete = False

        async def watched_receive() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect" and not complete:
                gone.set()
            return message

        async def watched_send(message: Message) -> None:
            nonlocal complete
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[KEEPALIVE_HEADER] = f"{KEEPALIVE_S:g}"
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                complete = True
            await send(message)

        try:
            await self._app(scope, watched_receive, watched_send)
        finally:
            if not complete:
                gone.set()


def caller_gone() -> asyncio.Event | None:
    """Event of the request that is being served; None for a client in the same process."""
    try:
        return get_http_request().scope.get(_KEY)
    except RuntimeError:
        return None
