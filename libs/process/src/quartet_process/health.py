"""GET /health and GET /metrics as every process answers them."""

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from quartet_process._background import BACKGROUND, BackgroundTasks
from quartet_process.metrics import Exposition


class Health:
    """Whether the process can work now."""

    def __init__(self, background: BackgroundTasks = BACKGROUND) -> None:
        self._background = background
        self.own_problem: str | None = "starting"
        """What the process itself waits for or lacks; None: nothing."""

    @property
    def problem(self) -> str | None:
        """Why the process cannot work now: its own problem, or a background task that failed; None: it can."""
        return self.own_problem or self._background.problem

    def waits(self, problem: str) -> None:
        """The process cannot work yet, because of `problem`."""
        self.own_problem = problem

    def works(self) -> None:
        """The process can work from now on."""
        self.own_problem = None


def health_app(name: str, health: Health, exposition: Exposition) -> Starlette:
    """Return the application of a process `name` that answers nothing but /health and /metrics, or not yet.

    /health answers 200, or 503 with the problem; any other path 404, or 503 while there is a problem.
    """

    async def tell(_: Request) -> Response:
        if (problem := health.problem) is None:
            return JSONResponse({"status": "ok", "agent": name})
        return JSONResponse({"status": "unavailable", "agent": name, "problem": problem}, status_code=503)

    async def other(_: Request, error: Exception) -> Response:
        if (problem := health.problem) is not None:
            return PlainTextResponse(f"{problem}\n", status_code=503)
        return PlainTextResponse("there is /health and /metrics\n", status_code=404)

    return Starlette(
        routes=[Route("/health", tell), metrics_route(exposition)], exception_handlers={404: other, 405: other}
    )


def metrics_route(exposition: Exposition, measure: Callable[[], Awaitable[None] | None] | None = None) -> Route:
    """Return GET /metrics; `measure` sets the metrics that are looked at only when somebody asks who may."""

    async def scrape(request: Request) -> Response:
        authorization = request.headers.get("authorization")
        if measure is not None and exposition.accepts(authorization) and (measuring := measure()) is not None:
            await measuring
        status, kind, body = exposition.answer(authorization)
        return Response(body, status, media_type=kind)

    return Route("/metrics", scrape)
