"""The application: routes, health, metrics."""

import asyncio

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from quartet_bus import BusUnavailable
from quartet_contracts import Skill
from quartet_orchestrator.api import page, problems
from quartet_orchestrator.api.access import OPEN, Access, Gate
from quartet_orchestrator.api.body_limit import BodyLimit
from quartet_orchestrator.api.sessions import Sessions, session_routes
from quartet_orchestrator.api.skills import skill_routes
from quartet_orchestrator.api.tasks import TaskDesk, task_routes
from quartet_orchestrator.api.views import view_routes
from quartet_orchestrator.lookout import Lookout
from quartet_orchestrator.measures import measure
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_process import REGISTRY, Exposition, metrics_secret, tracing


def create_app(
    desk: TaskDesk,
    settings: OrchestratorSettings,
    stop: asyncio.Event,
    access: Access,
    lookout: Lookout,
    sessions: Sessions,
    mcp: ASGIApp,
) -> FastAPI:
    """The HTTP API of one orchestrator process, and `mcp` at /mcp; open streams end when `stop` is set."""
    # The pages that list the API would run a foreign script on the origin of the session; the OpenAPI document stays.
    app = FastAPI(title="Quartet orchestrator", docs_url=None, redoc_url=None)
    problems.install(app)
    app.add_middleware(BodyLimit)
    app.add_middleware(tracing.TraceContext)
    app.add_middleware(Gate, access=access, opened=OPEN | page.OPEN)
    app.add_middleware(page.PageHeaders, settings=settings)
    access.ways.append(sessions.by_cookie)
    bus, fleet = desk.bus, desk.fleet
    exposition = Exposition("orchestrator", REGISTRY, token=metrics_secret(settings, settings.host))
    app.include_router(task_routes(desk, stop))
    app.include_router(skill_routes(desk))
    app.include_router(page.page_routes(settings))
    app.include_router(session_routes(sessions))
    app.include_router(view_routes(lookout, {name: known.site for name, known in settings.known_robots().items()}))

    app.router.routes.append(Route("/mcp", endpoint=mcp))

    @app.get("/robots", tags=["robots"])
    async def robots() -> Response:
        """Each robot's state (idle, busy, stopped, absent), its task and how many wait for it."""
        rows, shared = await asyncio.gather(fleet.rows(), bus.tasks.waiting_for_any())
        return JSONResponse({"robots": rows, "waiting_for_any": shared})

    @app.get("/health", tags=["process"])
    async def health() -> Response:
        try:
            await bus.check()
            agents = {str(skill): await bus.skills(skill).alive() for skill in Skill}
        except BusUnavailable as error:
            return JSONResponse({"status": "unavailable", "problem": str(error)}, status_code=503)
        return JSONResponse({"status": "ok", "replica": bus.replica, "agents": agents})

    @app.get("/metrics", tags=["process"])
    async def metrics(request: Request) -> Response:
        given = request.headers.get("authorization")
        if exposition.accepts(given):
            await measure(bus, sorted(settings.servers))
        status, kind, body = exposition.answer(given)
        return Response(body, status, media_type=kind)

    return app
