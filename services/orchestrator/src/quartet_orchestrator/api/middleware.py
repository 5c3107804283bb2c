"""ASGI middleware of the API: credentials and the size of request bodies."""

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quartet_bus import BusError
from quartet_contracts import MAX_MESSAGE_BYTES
from quartet_orchestrator.api.access import OPEN, Authenticator
from quartet_orchestrator.api.responses import as_request_error, problem_response
from quartet_orchestrator.callers import current_caller
from quartet_orchestrator.errors import RequestError

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="quartet"'}
TOO_LARGE = f"the request body is over {MAX_MESSAGE_BYTES} bytes; a sentence or the arguments of a skill need far less"


class RequireCredential:
    """Lets a request without a credential reach nothing but the `opened` paths."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator, opened: frozenset[str] = OPEN) -> None:
        self._app, self._authenticator, self._opened = app, authenticator, opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its caller, or answer 401, 403 or, while the store is away, 503."""
        if scope["type"] in {"http", "websocket"} and scope["path"] not in self._opened:
            try:
                caller = await self._authenticator.check(HTTPConnection(scope))
            except (RequestError, BusError) as error:
                refused = as_request_error(error)
                if refused is None:
                    raise
                answer = problem_response(refused.status, refused.title, refused.detail)
                answer.headers.update(CHALLENGE if refused.status == 401 else {})
                await answer(scope, receive, send)
                return
            current_caller.set(caller)
        await self._app(scope, receive, send)


class BodyLimit:
    """Answers 413 to a request body over MAX_MESSAGE_BYTES, whether or not its length was announced."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting its body."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > MAX_MESSAGE_BYTES:
            await problem_response(413, "Request too large", TOO_LARGE)(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > MAX_MESSAGE_BYTES:
                raise HTTPException(413, TOO_LARGE)
            return message

        await self._app(scope, counted, send)
