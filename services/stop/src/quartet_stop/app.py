"""The HTTP surface of the stop service."""

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
from quartet_process import Exposition, Secret, bearer
from quartet_stop.cors import PageOrigins
from quartet_stop.metrics import Metrics
from quartet_stop.robot import RobotStop

MAX_BODY = 10_000
MAX_REASON = 300
REASON = "a person pressed stop"


class Order(BaseModel):
    """Body of /stop and /reset; without a robot it is for all."""

    model_config = ConfigDict(extra="forbid")

    robot: str | None = None
    reason: str = ""
    """Cut when it is long: a stop is not refused for its words."""


class Refused(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, title: str, detail: str) -> None:
        super().__init__(detail)
        self.response = JSONResponse(
            {"title": title, "status": status, "detail": detail},
            status_code=status,
            media_type="application/problem+json",
        )


@dataclass(frozen=True)
class Access:
    """Who may stop and reset, and who may only stop."""

    persons: Secret
    buttons: Secret | None = None


def create_app(
    robots: Mapping[str, RobotStop],
    access: Access,
    metrics: Metrics,
    origins: Collection[str] = (),
    metrics_token: Secret | None = None,
) -> Starlette:
    """POST /stop and /reset, GET /state, each for who `access` lets in; GET /health and /metrics.

    Pages of `origins` may ask too, see PageOrigins.
    """

    exposition = Exposition("stop", metrics.registry, token=metrics_token)

    def authorise(request: Request, *, button: bool = True) -> None:
        given = bearer(request.headers.get("authorization"))
        pressed = access.buttons is not None and access.buttons.accepts(given)
        if access.persons.accepts(given) or (pressed and button):
            return
        if pressed:
            raise Refused(403, "Forbidden", "this token may stop and look; only a person's (QUARTET_STOP_TOKEN) resets")
        raise Refused(401, "Unauthorized", "send 'Authorization: Bearer <token>' with the stop service's token")

    async def order_of(request: Request, *, button: bool) -> tuple[Order, list[str]]:
        authorise(request, button=button)
        body = await request.body()
        if len(body) > MAX_BODY:
            raise Refused(413, "Too large", f"the body has {len(body)} bytes, at most {MAX_BODY} are read")
        try:
            order = Order.model_validate_json(body or b"{}")
        except ValidationError as error:
            raise Refused(422, "Not an order", f"{describe(error)}; valid: robot, reason") from error
        return order, chosen(order.robot)

    def chosen(robot: str | None) -> list[str]:
        if robot is not None and robot not in robots:
            raise Refused(404, "No such robot", f"there is no robot '{robot[:64]}'; valid: {', '.join(sorted(robots))}")
        return sorted(robots) if robot is None else [robot]

    async def stop(request: Request) -> Response:
        order, names = await order_of(request, button=True)
        found = await _each(names, lambda name: robots[name].stop(order.reason.strip()[:MAX_REASON] or REASON))
        done = all(state["stopped"] for state in found.values())
        return JSONResponse({"stopped": done, "robots": found}, status_code=200 if done else 502)

    async def reset(request: Request) -> Response:
        _, names = await order_of(request, button=False)
        found = await _each(names, lambda name: robots[name].reset())
        done = all(state["reset"] for state in found.values())
        return JSONResponse({"reset": done, "robots": found}, status_code=200 if done else 502)

    async def state(request: Request) -> Response:
        authorise(request)
        return JSONResponse({"robots": await _each(chosen(None), lambda name: robots[name].look())})

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "robots": sorted(robots)})

    async def scrape(request: Request) -> Response:
        for name, robot in robots.items():
            metrics.latched(name, robot.state()["latched"])
        status, kind, body = exposition.answer(request.headers.get("authorization"))
        return Response(body, status, media_type=kind)

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return error.response

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        running = [asyncio.create_task(robot.run(), name=f"robot {name}") for name, robot in robots.items()]
        yield
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await asyncio.gather(*(robot.close() for robot in robots.values()))

    return Starlette(
        routes=[
            Route("/stop", stop, methods=["POST"]),
            Route("/reset", reset, methods=["POST"]),
            Route("/state", state),
            Route("/health", health),
            Route("/metrics", scrape),
        ],
        exception_handlers={Refused: refused},
        middleware=[Middleware(PageOrigins, origins=origins)],
        lifespan=lifespan,
    )


async def _each(names: list[str], act: Callable[[str], Awaitable[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """All at the same time: no robot waits for another."""
    return dict(zip(names, await asyncio.gather(*(act(name) for name in names)), strict=True))
