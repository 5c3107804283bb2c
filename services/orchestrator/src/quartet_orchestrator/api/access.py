"""Who calls: everything but OPEN needs a credential, and what is added later does too unless it is put there."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from quartet_orchestrator.api.problems import Problem, problem_response
from quartet_process import Secret, bearer, foreign_page

OPEN = frozenset({"/health", "/metrics"})
"""Paths that anybody may ask for; the metrics have a token of their own."""
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="quartet"'}


@dataclass(frozen=True)
class Caller:
    """Who asked, as the journal names it: the owner of the token; '' where the token has none."""

    name: str = ""


current_caller: ContextVar[str] = ContextVar("current_caller", default="")
"""Name of who sent the request that is being answered."""

Way = Callable[[HTTPConnection], Caller | None]
"""A way to tell who calls; None: not by this way. Raises Problem for one that is refused whatever else it has."""


class Access:
    """The callers of one orchestrator. Without `tokens` everybody is let in, which only a loopback port may do."""

    def __init__(self, tokens: Secret | None) -> None:
        self._tokens = tokens
        self.ways: list[Way] = [self._by_bearer]
        """Asked in order; the first that knows the caller counts."""

    def check(self, connection: HTTPConnection) -> Caller:
        """Raises Problem 401 for who is nobody, 403 for a page of another site."""
        if self._tokens is None:
            if said := foreign_page(connection.headers, own_pages=True):
                detail = f"no API token is configured, so {said} is refused; set QUARTET_API_TOKEN"
                raise Problem(403, "Other origin", detail)
            return Caller()
        for way in self.ways:
            caller = way(connection)
            if caller is not None:
                return caller
        raise Problem(
            401,
            "Not authenticated",
            "send 'Authorization: Bearer <token>' with a token of this orchestrator (QUARTET_API_TOKEN); with "
            "`quartet up` it lies in .quartet/up/secrets/cli/api_token",
        )

    def _by_bearer(self, connection: HTTPConnection) -> Caller | None:
        given = bearer(connection.headers.get("authorization"))
        owner = self._tokens.owner_of(given) if self._tokens is not None and given else None
        return None if owner is None else Caller(owner)


class Gate:
    """ASGI middleware: nothing behind it is reached without a credential."""

    def __init__(self, app: ASGIApp, access: Access, opened: frozenset[str] = OPEN) -> None:
        self._app, self._access, self._opened = app, access, opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in {"http", "websocket"} and scope["path"] not in self._opened:
            try:
                caller = self._access.check(HTTPConnection(scope))
            except Problem as problem:
                answer = problem_response(problem.status, problem.title, problem.detail)
                answer.headers.update(CHALLENGE if problem.status == 401 else {})
                await answer(scope, receive, send)
                return
            current_caller.set(caller.name)
        await self._app(scope, receive, send)
