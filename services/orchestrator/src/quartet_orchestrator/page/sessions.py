"""Sign-in of the web page: exchanges an API token for a cookie that scripts cannot read."""

import hashlib
import hmac
import secrets
import time
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from starlette.requests import HTTPConnection

from quartet_bus import Bus
from quartet_contracts import Role
from quartet_orchestrator.callers import Caller, caller_of
from quartet_orchestrator.errors import RequestError
from quartet_process import Secret, bearer_token

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class Sessions:
    """Opens sessions for owners of an API token, and checks their cookies.

    A cookie is `<end>.<nonce>.<mac>`, the MAC keyed with the token that opened the session. So every replica of the
    orchestrator accepts it, and a token that is removed ends its sessions. A sign-out is noted in the store.
    """

    def __init__(self, bus: Bus, tokens: Secret | None, life_s: float) -> None:
        """`life_s` is the life of a session in seconds. Without `tokens` nobody needs a session."""
        self.tokens = tokens
        self.life_s = life_s
        self._ended = bus.ended_sessions

    async def by_cookie(self, connection: HTTPConnection) -> Caller | None:
        """Return the owner of the token that opened the session; an authentication method of the API.

        Raises RequestError 403 for a request that a page of another site made the browser send, and
        BusUnavailableError.
        """
        cookie = connection.cookies.get(cookie_name(connection))
        owner = None if cookie is None else self._owner_of(cookie)
        if cookie is None or owner is None or await self._ended.contains(_parts(cookie)[1]):
            return None
        if connection.scope.get("method") not in SAFE_METHODS and not _same_origin(connection):
            raise RequestError(
                403, "Other origin", "the cookie came from a page of another origin; send an API token instead"
            )
        caller = caller_of(owner)
        # The roles of the token may have changed since.
        return caller if caller.may(Role.APPROVE) else None

    def open(self, token: str) -> str | None:
        """Return the value of the cookie, None for a wrong token.

        Raises RequestError 403 for a token without the role to approve, which the page's session has.
        """
        owner = None if self.tokens is None else self.tokens.owner_of(token)
        if owner is None:
            return None
        caller_of(owner).require(Role.APPROVE, "a session of the web page")
        text = f"{int(time.time() + self.life_s)}.{secrets.token_urlsafe(12)}"
        return f"{text}.{_mac(token, text)}"

    async def end(self, cookie: str) -> None:
        """End the session of a cookie at every replica; one that is not valid has none."""
        if self._owner_of(cookie) is not None:
            end, nonce, _ = _parts(cookie)
            await self._ended.add(nonce, float(end))

    def _owner_of(self, cookie: str) -> str | None:
        end, nonce, mac = _parts(cookie)
        if self.tokens is None or not end.isdecimal() or len(end) > 12 or int(end) < time.time():
            return None
        text = f"{end}.{nonce}"
        found = None
        for value in self.tokens.values:
            if hmac.compare_digest(_mac(value.text, text).encode(), mac.encode()):
                found = value.owner
        return found


def session_routes(sessions: Sessions) -> APIRouter:
    """Return the routes: POST /session with the API token as bearer signs in, GET shows the state, DELETE signs out."""
    router = APIRouter(prefix="/session", tags=["page"])

    @router.post("", status_code=204)
    async def sign_in(request: Request) -> Response:
        cookie = sessions.open(bearer_token(request.headers.get("authorization")))
        if sessions.tokens is not None and cookie is None:
            raise RequestError(
                401,
                "Not signed in",
                "this is not an API token of the orchestrator; `quartet up` prints a link with one",
            )
        answer = Response(status_code=204)
        if cookie is not None:
            answer.set_cookie(
                cookie_name(request),
                cookie,
                max_age=int(sessions.life_s),
                httponly=True,
                samesite="strict",
                secure=_over_tls(request),
            )
        return answer

    @router.get("")
    async def show(request: Request) -> Response:
        needed = sessions.tokens is not None
        signed_in = not needed or await sessions.by_cookie(request) is not None
        return JSONResponse({"signed_in": signed_in, "needed": needed}, headers={"Cache-Control": "no-store"})

    @router.delete("", status_code=204)
    async def sign_out(request: Request) -> Response:
        cookie = request.cookies.get(cookie_name(request))
        if cookie is not None and _same_origin(request):
            await sessions.end(cookie)
        answer = Response(status_code=204)
        answer.delete_cookie(cookie_name(request), httponly=True, samesite="strict", secure=_over_tls(request))
        return answer

    return router


def cookie_name(connection: HTTPConnection) -> str:
    """Return the name of the cookie; it has the port, since a browser sends cookies to every port of a host."""
    return f"quartet_session_{connection.url.port or connection.url.scheme}"


def _over_tls(connection: HTTPConnection) -> bool:
    """Return whether the browser uses HTTPS, which a proxy in front of this process may terminate."""
    return connection.url.scheme == "https" or urlsplit(connection.headers.get("origin", "")).scheme == "https"


def _parts(cookie: str) -> tuple[str, str, str]:
    """Return end, nonce and MAC of a cookie; texts that are no cookie have some that are ''."""
    text, _, mac = cookie.rpartition(".")
    end, _, nonce = text.partition(".")
    return end, nonce, mac


def _same_origin(connection: HTTPConnection) -> bool:
    """Return whether the browser says that the request comes from a page of this origin."""
    if (site := connection.headers.get("sec-fetch-site")) is not None:
        return site == "same-origin"
    origin = urlsplit(connection.headers.get("origin", ""))
    return bool(origin.netloc) and origin.netloc == connection.headers.get("host")


def _mac(token: str, text: str) -> str:
    return hmac.new(token.encode(), f"quartet session {text}".encode(), hashlib.sha256).hexdigest()
