"""The web page's sign-in: an API token is exchanged for a cookie that scripts cannot read."""

import hashlib
import hmac
import secrets
import time
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from starlette.requests import HTTPConnection

from quartet_orchestrator.api.access import Caller
from quartet_orchestrator.api.problems import Problem
from quartet_process import Secret, bearer

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Sessions:
    """Opens sessions for who has a token of `tokens`, and knows them again.

    A cookie is `<end>.<nonce>.<mac>`, the mac keyed with the token that opened it: every replica of the orchestrator
    accepts it, none keeps anything, and a token that is taken away takes its sessions along.
    """

    def __init__(self, tokens: Secret | None, life_s: float) -> None:
        """Without `tokens` nobody needs a session."""
        self.tokens = tokens
        self.life_s = life_s

    def by_cookie(self, connection: HTTPConnection) -> Caller | None:
        """A way of Access: the owner of the token that opened the session.

        Raises Problem 403 for a request that another site's page made the browser send.
        """
        cookie = connection.cookies.get(cookie_name(connection))
        owner = None if cookie is None else self._owner_of(cookie)
        if owner is None:
            return None
        if connection.scope.get("method") not in SAFE and not _same_origin(connection):
            raise Problem(
                403, "Other origin", "the cookie came from a page of another origin; send an API token instead"
            )
        return Caller(owner)

    def open(self, token: str) -> str | None:
        """The cookie's value, None for a wrong token."""
        if self.tokens is None or not self.tokens.accepts(token):
            return None
        text = f"{int(time.time() + self.life_s)}.{secrets.token_urlsafe(12)}"
        return f"{text}.{_mac(token, text)}"

    def _owner_of(self, cookie: str) -> str | None:
        text, _, mac = cookie.rpartition(".")
        end = text.partition(".")[0]
        if self.tokens is None or not end.isdigit() or len(end) > 12 or int(end) < time.time():
            return None
        found = None
        for value in self.tokens.values:
            if hmac.compare_digest(_mac(value.text, text).encode(), mac.encode()):
                found = value.owner
        return found


def session_routes(sessions: Sessions) -> APIRouter:
    """POST /session with the API token as bearer opens one, GET tells of it, DELETE ends it in this browser."""
    router = APIRouter(prefix="/session", tags=["page"])

    @router.post("", status_code=204)
    async def sign_in(request: Request) -> Response:
        cookie = sessions.open(bearer(request.headers.get("authorization")))
        if sessions.tokens is not None and cookie is None:
            raise Problem(
                401, "Not signed in", "this is not an API token of the orchestrator; `quartet up` prints a link with it"
            )
        answer = Response(status_code=204)
        if cookie is not None:
            answer.set_cookie(
                cookie_name(request),
                cookie,
                max_age=int(sessions.life_s),
                httponly=True,
                samesite="strict",
                secure=request.url.scheme == "https",
            )
        return answer

    @router.get("")
    async def show(request: Request) -> Response:
        needed = sessions.tokens is not None
        signed_in = not needed or sessions.by_cookie(request) is not None
        return JSONResponse({"signed_in": signed_in, "needed": needed}, headers={"Cache-Control": "no-store"})

    @router.delete("", status_code=204)
    async def sign_out(request: Request) -> Response:
        answer = Response(status_code=204)
        answer.delete_cookie(cookie_name(request), httponly=True, samesite="strict")
        return answer

    return router


def cookie_name(connection: HTTPConnection) -> str:
    """A browser sends cookies to every port of a host: two deployments on one machine need two names."""
    return f"quartet_session_{connection.url.port or connection.url.scheme}"


def _same_origin(connection: HTTPConnection) -> bool:
    """Browsers say where a request comes from; one that says nothing is refused."""
    if (site := connection.headers.get("sec-fetch-site")) is not None:
        return site == "same-origin"
    origin = urlsplit(connection.headers.get("origin", ""))
    return bool(origin.netloc) and origin.netloc == connection.headers.get("host")


def _mac(token: str, text: str) -> str:
    return hmac.new(token.encode(), f"quartet session {text}".encode(), hashlib.sha256).hexdigest()
