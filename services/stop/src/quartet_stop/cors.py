"""Which web pages may ask: Quartet's own, whose browser calls the stop service on another port."""

import ipaddress
import logging
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quartet_process import is_loopback

log = logging.getLogger(__name__)

MAX_AGE_S = 600


class PageOrigins:
    """ASGI middleware that allows pages of `origins`, or, without any, of every port of the requested address.

    That must be an IP address or localhost: a page of another site can have its own name lead to this machine, but not
    an address. A request of any other page is answered with 403. Every request still needs the token, which a browser
    does not add by itself.
    """

    def __init__(self, app: ASGIApp, origins: Collection[str] = ()) -> None:
        self._app = app
        self._origins = frozenset(origin.rstrip("/") for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a preflight request, or add the headers to the answer of the application."""
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        origin = headers.get("origin")
        if origin is None and headers.get("sec-fetch-site") != "cross-site":
            await self._app(scope, receive, send)
            return
        if origin is None or not self._allows(origin, headers.get("host", "")):
            text = f"a page of {(origin or 'another site')[:100]} is not served; QUARTET_STOP_ORIGINS may list it"
            log.warning("%s", text)
            problem = {"title": "Forbidden", "status": 403, "detail": text}
            await JSONResponse(problem, 403, media_type="application/problem+json")(scope, receive, send)
            return
        granted = {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            granted |= {
                "Access-Control-Allow-Methods": "GET, POST",
                "Access-Control-Allow-Headers": "Authorization, Content-Type",
                "Access-Control-Max-Age": str(MAX_AGE_S),
            }
            await Response(status_code=204, headers=granted)(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(granted)
            await send(message)

        await self._app(scope, receive, with_headers)

    def _allows(self, origin: str, host: str) -> bool:
        if self._origins:
            return origin in self._origins
        try:
            asking, asked = urlsplit(origin).hostname, urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        return asking == asked and _is_address(asked)


def _is_address(host: str | None) -> bool:
    try:
        ipaddress.ip_address(host or "")
    except ValueError:
        return is_loopback(host)
    return True
