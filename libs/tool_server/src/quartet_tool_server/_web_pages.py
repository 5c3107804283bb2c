"""Refuses requests that a web page may have sent, whatever grant they carry."""

import logging
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from quartet_process import cross_site_reason

log = logging.getLogger(__name__)


class NoWebPages:
    """ASGI middleware: answers 403 to a request with an `Origin`, and to one for a host that is not this machine's.

    `known_hosts` are names, in lower case, that are this machine's beside addresses and names without a dot; with None
    only its loopback addresses and `localhost` are. A stop is served whatever the request looks like: it needs its own
    token, and must not hang on a setting.
    """

    def __init__(self, app: ASGIApp, known_hosts: Collection[str] | None) -> None:
        self._app, self._known_hosts = app, known_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve or refuse one request."""
        said = None
        if scope["type"] == "http" and not scope["path"].endswith("/control/stop"):
            said = cross_site_reason(Headers(scope=scope), known_hosts=self._known_hosts)
        if said is None:
            await self._app(scope, receive, send)
            return
        log.warning("%s is refused", said)
        detail = f"{said} is refused"
        if self._known_hosts is not None:
            detail += "; QUARTET_ALLOWED_HOSTS lists further names of this machine"
        problem = {"type": "about:blank", "title": "Forbidden", "status": 403, "detail": detail}
        await JSONResponse(problem, 403, media_type="application/problem+json")(scope, receive, send)
