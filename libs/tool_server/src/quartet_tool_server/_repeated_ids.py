"""Refuses a request whose id the same session is still waiting for.

mcp keeps one stream for each id of a session: of two requests with one id, the second takes the stream of the first,
which is never answered then.
"""

import json
from typing import Any, cast

from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE
from mcp_types import INVALID_REQUEST
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SESSION = "mcp-session-id"


class OneRequestForEachId:
    """ASGI middleware: answers 400 with a JSON-RPC error to a request whose id is in use in its session."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._in_use: set[tuple[str, str]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse one request."""
        session = Headers(scope=scope).get(SESSION) if scope["type"] == "http" and scope["method"] == "POST" else None
        # Nothing is read for somebody without a grant, who gets 401.
        if session is None or not getattr(scope.get("user"), "is_authenticated", False):
            await self._app(scope, receive, send)
            return
        body, replay = await _read(receive)
        asked = _request_id(body)
        # As mcp takes it: 7 and "7" are one.
        key = (session, str(asked))
        if asked is not None and key in self._in_use:
            said = f"a request with the id {str(asked)[:100]} is running in this session; give each an id of its own"
            error = {"jsonrpc": "2.0", "id": asked, "error": {"code": INVALID_REQUEST, "message": said}}
            await JSONResponse(error, 400)(scope, receive, send)
            return
        if asked is not None:
            self._in_use.add(key)
        try:
            await self._app(scope, replay, send)
        finally:
            if asked is not None:
                self._in_use.discard(key)


async def _read(receive: Receive) -> tuple[bytes, Receive]:
    """Return a request's body, as far as mcp takes it, and what gives its messages once more."""
    messages: list[Message] = []
    body = bytearray()
    while len(body) <= DEFAULT_MAX_REQUEST_BODY_SIZE:
        messages.append(await receive())
        body += messages[-1].get("body", b"")
        if not messages[-1].get("more_body", False):
            break
    messages.reverse()

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return bytes(body), replay


def _request_id(body: bytes) -> str | int | None:
    """Return the id of a JSON-RPC request, None for a notification, an answer, and what is no JSON-RPC."""
    try:
        message: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or "method" not in message:
        return None
    found = cast("dict[str, Any]", message).get("id")
    return found if isinstance(found, str | int) else None
