"""One process, several robots: each robot's server below a path of its own."""

from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from quartet_process import BACKGROUND
from quartet_tool_server._server import ToolServer


def host(servers: Mapping[str, ToolServer], known_hosts: Collection[str] = ()) -> Starlette:
    """Return the ASGI application of a process.

    The server of an only robot is at /mcp; of several robots each is at /<robot>/mcp, /<robot>/control/... and
    /<robot>/health, with one /health and one /metrics for all of them. `known_hosts`: see ToolServer.app.
    """
    if len(servers) == 1:
        return next(iter(servers.values())).app(known_hosts=known_hosts)
    apps = {name: server.app(known_hosts=known_hosts) for name, server in servers.items()}

    async def health(_: Request) -> Response:
        robots = {name: {"connected": server.robot.link.connected} for name, server in servers.items()}
        status, base = BACKGROUND.health()
        return JSONResponse({**base, "robots": robots}, status_code=status)

    async def metrics(request: Request) -> Response:
        # They share their metric families, so that any of them answers for all.
        for server in servers.values():
            server.measure()
        exposition = next(iter(servers.values())).exposition
        status, kind, body = exposition.answer(request.headers.get("authorization"))
        return Response(body, status, media_type=kind)

    return mounted(apps, Route("/health", health), Route("/metrics", metrics))


def mounted(apps: Mapping[str, Starlette], *routes: Route) -> Starlette:
    """Each of `apps` at /<its name>, started and ended with the whole; `routes` come before them."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for app in apps.values():
                await stack.enter_async_context(app.router.lifespan_context(app))
            yield

    return Starlette(routes=[*routes, *(Mount(f"/{name}", app) for name, app in apps.items())], lifespan=lifespan)
