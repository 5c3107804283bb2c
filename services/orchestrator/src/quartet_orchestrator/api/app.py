"""Application of the API: routes, health, metrics."""

import asyncio
import time

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from quartet_bus import BusUnavailableError
from quartet_contracts import Skill
from quartet_orchestrator import page
from quartet_orchestrator.api.access import OPEN, Authenticator
from quartet_orchestrator.api.middleware import BodyLimit, RequireCredential
from quartet_orchestrator.api.responses import PROBLEM_RESPONSES, install_error_handlers
from quartet_orchestrator.api.skills import skill_routes
from quartet_orchestrator.api.surroundings import surroundings_routes
from quartet_orchestrator.api.tasks import task_routes
from quartet_orchestrator.api.views import view_routes
from quartet_orchestrator.metrics import measure
from quartet_orchestrator.observation import RobotMonitor
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_orchestrator.tasks import TaskService
from quartet_process import BACKGROUND, REGISTRY, Exposition, metrics_secret, tracing


def create_app(
    service: TaskService,
    settings: OrchestratorSettings,
    stop: asyncio.Event,
    authenticator: Authenticator,
    monitor: RobotMonitor,
    sessions: page.Sessions,
    mcp: ASGIApp,
) -> FastAPI:
    """Return the HTTP API of one orchestrator process, with `mcp` at /mcp; open streams end when `stop` is set."""
    # FastAPI's documentation pages load a foreign script on the origin of the session; /docs is the page's own.
    app = FastAPI(title="Quartet orchestrator", docs_url=None, redoc_url=None, responses=PROBLEM_RESPONSES)
    install_error_handlers(app)
    app.add_middleware(BodyLimit)
    app.add_middleware(tracing.TraceContextMiddleware)
    app.add_middleware(RequireCredential, authenticator=authenticator, opened=OPEN | page.OPEN)
    app.add_middleware(page.PageHeaders, settings=settings)
    authenticator.methods.append(sessions.by_cookie)
    bus, fleet = service.bus, service.fleet
    exposition = Exposition("orchestrator", REGISTRY, token=metrics_secret(settings, settings.host))
    app.include_router(task_routes(service, stop))
    app.include_router(skill_routes(service))
    app.include_router(page.page_routes(settings))
    app.include_router(page.session_routes(sessions))
    app.include_router(view_routes(monitor, settings.known_robots()))
    app.include_router(surroundings_routes(monitor, settings.servers))

    app.router.routes.append(Route("/mcp", endpoint=mcp))

    @app.get("/robots", tags=["robots"])
    async def robots() -> Response:
        """Return the state of each robot (RobotState), its task and the number of waiting tasks."""
        rows, shared = await asyncio.gather(fleet.rows(), bus.tasks.waiting_for_any())
        return JSONResponse({"robots": rows, "waiting_for_any": shared})

    @app.get("/health", tags=["process"])
    async def health() -> Response:
        """Return whether the store answers, the living replicas of each agent, and lines of tokens that are ignored."""
        try:
            await bus.check()
            agents = {str(skill): await bus.skills(skill).alive() for skill in Skill}
            store = await bus.clock_skew()
        except BusUnavailableError as error:
            return JSONResponse({"status": "unavailable", "problem": str(error)}, status_code=503)
        clocks = {
            "time": time.time(),
            "store_clock_ahead_s": round(store, 3),
            "agent_clocks_ahead_s": {name: round(store + one, 3) for name, one in bus.journal.agent_clocks.items()},
        }
        status, base = BACKGROUND.health()
        tokens = {"ignored_tokens": ignored} if (ignored := authenticator.problems) else {}
        answer = {**base, "replica": bus.replica, "agents": agents, **clocks, **tokens}
        return JSONResponse(answer, status_code=status)

    @app.get("/metrics", tags=["process"], response_class=PlainTextResponse)
    async def metrics(request: Request) -> Response:
        """Return the metrics in Prometheus' text format."""
        given = request.headers.get("authorization")
        if exposition.accepts(given):
            await measure(bus, sorted(settings.servers))
        status, kind, body = exposition.answer(given)
        return Response(body, status, media_type=kind)

    return app
