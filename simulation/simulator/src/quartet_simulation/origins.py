"""Which web pages may reach the simulation: those of this machine.

Its ports ask for no credential, and a page of any site can send requests from a browser on this machine. What is no
browser sends no origin. Neither does a browser whose page has made its own name lead here (DNS rebinding): its requests
have that name as their host.
"""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from quartet_process import cross_site_reason

LOCAL_PAGE = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")


class LocalPagesOnly:
    """ASGI middleware: answers 403 to a request of a page of another site, and to one for the name of another site."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            headers = Request(scope).headers
            # A browser that names no origin, as with a picture, says at least that the page is another site's.
            foreign = "another site" if headers.get("sec-fetch-site") == "cross-site" else None
            origin = headers.get("origin", foreign)
            text = cross_site_reason({"host": headers.get("host", "")}, known_hosts=())
            if origin is not None and not LOCAL_PAGE.fullmatch(origin):
                text = f"a web page of {origin[:100]} (valid: pages of this machine)"
            if text is not None:
                text += " is not served"
                await JSONResponse({"error": text}, 403)(scope, receive, send)
                return
        await self._app(scope, receive, send)
