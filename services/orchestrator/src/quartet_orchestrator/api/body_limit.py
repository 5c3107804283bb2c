"""Refuses a request body that nobody needs, before it fills the memory."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quartet_contracts import MAX_MESSAGE_BYTES
from quartet_orchestrator.api.problems import problem_response

TITLE = "Request too large"
DETAIL = f"the request body is over {MAX_MESSAGE_BYTES} bytes; a sentence or the arguments of a skill need far less"


class BodyLimit:
    """ASGI middleware: status 413 over MAX_MESSAGE_BYTES, whether or not the length was announced."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > MAX_MESSAGE_BYTES:
            await problem_response(413, TITLE, DETAIL)(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > MAX_MESSAGE_BYTES:
                raise HTTPException(413, DETAIL)
            return message

        await self._app(scope, counted, send)
