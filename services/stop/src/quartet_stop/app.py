"""The HTTP interface of the stop service."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quartet_contracts import describe
from quartet_process import BackgroundTasks, Exposition, Secret, bearer_token
from quartet_process.health import metrics_route
from quartet_stop.cors import PageOrigins
from quartet_stop.metrics import Metrics
from quartet_stop.robot import RobotStop

MAX_BODY = 10_000
"""Longest request [bytes]."""
MAX_REASON = 300
DEFAULT_REASON = "a person pressed stop"


class Order(BaseModel):
    """Body of /stop and /reset; without a robot it is for all of them."""

    model_config = ConfigDict(extra="forbid")

    robot: str | None = None
    reason: str = ""
    """Cut when it is too long: a stop is not refused for its words."""


class RefusedError(Exception):
    """A request that is answered with `status` and a problem document instead of a result."""

    def __init__(self, status: int, title: str, detail: str) -> None:
        super().__init__(detail)
        self.response = JSONResponse(
            {"title": title, "status": status, "detail": detail},
            status_code=status,
            media_type="application/problem+json",
        )


@dataclass(frozen=True)
class Access:
    """Tokens that may stop and reset, and tokens that may only stop and look."""

    persons: Secret
    buttons: Secret | None = None

    def check(self, request: Request, *, button: bool) -> None:
        """Raise RefusedError unless the request has a person's token, or with `button` a button's."""
        given = bearer_token(request.headers.get("authorization"))
        pressed = self.buttons is not None and self.buttons.accepts(given)
        if self.persons.accepts(given) or (pressed and button):
            return
        if pressed:
            raise RefusedError(
                403, "Forbidden", "this token may stop and look; only a person's (QUARTET_STOP_TOKEN) resets"
            )
        raise RefusedError(401, "Unauthorized", "send 'Authorization: Bearer <token>' with the stop service's token")


def create_app(
    robots: Mapping[str, RobotStop],
    access: Access,
    metrics: Metrics,
    origins: Collection[str] = (),
    metrics_token: Secret | None = None,
) -> Starlette:
    """Return the application: POST /stop and /reset, GET /state, /health and /metrics.

    Args:
        robots: By name.
        access: Who may stop, look and reset; /health is open, /metrics asks for `metrics_token`.
        metrics: Of the process.
        origins: Web pages that may call, see PageOrigins.
        metrics_token: None: /metrics is open.
    """
    handlers = _Handlers(robots, access)

    def measure() -> None:
        for name, robot in robots.items():
            metrics.latched(name, robot.state()["latched"])

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        background = BackgroundTasks()
        for robot in robots.values():
            background.start("stop-enforcement", robot.run)
        yield
        await background.close()
        await asyncio.gather(*(robot.close() for robot in robots.values()))

    return Starlette(
        routes=[
            Route("/stop", handlers.stop, methods=["POST"]),
            Route("/reset", handlers.reset, methods=["POST"]),
            Route("/state", handlers.state),
            Route("/health", handlers.health),
            metrics_route(Exposition("stop", metrics.registry, token=metrics_token), measure),
        ],
        exception_handlers={RefusedError: _refused},
        middleware=[Middleware(PageOrigins, origins=origins)],
        lifespan=lifespan,
    )


class _Handlers:
    def __init__(self, robots: Mapping[str, RobotStop], access: Access) -> None:
        self._robots, self._access = robots, access

    async def stop(self, request: Request) -> Response:
        order, names = await self._order(request, button=True)
        reason = order.reason.strip()[:MAX_REASON] or DEFAULT_REASON
        found = await _each(names, lambda name: self._robots[name].stop(reason))
        done = all(state["stopped"] for state in found.values())
        return JSONResponse({"stopped": done, "robots": found}, status_code=200 if done else 502)

    async def reset(self, request: Request) -> Response:
        _, names = await self._order(request, button=False)
        found = await _each(names, lambda name: self._robots[name].reset())
        done = all(state["reset"] for state in found.values())
        return JSONResponse({"reset": done, "robots": found}, status_code=200 if done else 502)

    async def state(self, request: Request) -> Response:
        self._access.check(request, button=True)
        return JSONResponse({"robots": await _each(self._chosen(None), lambda name: self._robots[name].look())})

    async def health(self, _: Request) -> Response:
        problems = [f"{name}: {robot.problem}" for name, robot in sorted(self._robots.items()) if robot.problem]
        if problems:
            body = {"status": "unavailable", "robots": sorted(self._robots), "problem": "; ".join(problems)}
            return JSONResponse(body, status_code=503)
        return JSONResponse({"status": "ok", "robots": sorted(self._robots)})

    async def _order(self, request: Request, *, button: bool) -> tuple[Order, list[str]]:
        """Return the order and the robots that it is for. Raises RefusedError."""
        self._access.check(request, button=button)
        body = await request.body()
        if len(body) > MAX_BODY:
            raise RefusedError(413, "Too large", f"the body has {len(body)} bytes, at most {MAX_BODY} are read")
        try:
            order = Order.model_validate_json(body or b"{}")
        except ValidationError as error:
            raise RefusedError(422, "Not an order", f"{describe(error)}; valid: robot, reason") from error
        return order, self._chosen(order.robot)

    def _chosen(self, robot: str | None) -> list[str]:
        known = sorted(self._robots)
        if robot is not None and robot not in known:
            raise RefusedError(404, "No such robot", f"there is no robot '{robot[:64]}'; valid: {', '.join(known)}")
        return known if robot is None else [robot]


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return error.response


async def _each(names: list[str], act: Callable[[str], Awaitable[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Run `act` for all robots at the same time, so that none waits for another; return the results by robot."""
    return dict(zip(names, await asyncio.gather(*(act(name) for name in names)), strict=True))
