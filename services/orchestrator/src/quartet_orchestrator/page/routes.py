"""Files of the web page, and what a browser may load and reach from it."""

import re
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from starlette.datastructures import MutableHeaders
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quartet_orchestrator.settings import OrchestratorSettings

FOLDER = Path(__file__).parent / "static"
HOST = re.compile(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
OPEN = frozenset({"/", "/docs", "/page", "/session", *(f"/page/{file.name}" for file in FOLDER.iterdir())})
"""Paths that are served before anybody has signed in: the page, the address of the stop service, and the sign-in."""


def page_routes(settings: OrchestratorSettings) -> APIRouter:
    """Return the routes of the page."""
    router = APIRouter(tags=["page"])
    files = StaticFiles(directory=FOLDER)

    @router.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    @router.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return await files.get_response("docs.html", request.scope)

    @router.get("/page/{name}", include_in_schema=False)
    async def file(name: str, request: Request) -> Response:
        return await files.get_response(name, request.scope)

    @router.get("/page")
    async def facts(request: Request) -> Response:
        """Return what the page needs to know of the deployment."""
        return JSONResponse({"stop_url": stop_url(settings, request.headers.get("host", ""))})

    return router


def stop_url(settings: OrchestratorSettings, host: str) -> str | None:
    """Return where a browser that sent `host` in its Host header reaches the stop service."""
    url = settings.page_stop_url
    if url is None or not url.startswith(":"):
        return url
    match = HOST.fullmatch(host)
    return f"http://{match[1]}{url}" if match else None


class PageHeaders:
    """ASGI middleware: sends the page's files with a policy that allows no foreign script, style, frame or address."""

    def __init__(self, app: ASGIApp, settings: OrchestratorSettings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and add the headers."""
        if scope["type"] != "http" or not (scope["path"] in {"/", "/docs"} or scope["path"].startswith("/page")):
            await self._app(scope, receive, send)
            return
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        reachable = stop_url(self._settings, host)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = content_security_policy(reachable)
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "no-referrer"
                headers["Cross-Origin-Opener-Policy"] = "same-origin"
                headers["Cache-Control"] = "no-cache"
            await send(message)

        await self._app(scope, receive, with_headers)


def content_security_policy(reachable: str | None) -> str:
    """Return the Content-Security-Policy; `reachable` is the stop service's address, allowed beside the page's."""
    connect = "'self'" if reachable is None else f"'self' {reachable.rstrip('/')}"
    rules = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' blob: data:",
        "connect-src": connect,
        "manifest-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())
