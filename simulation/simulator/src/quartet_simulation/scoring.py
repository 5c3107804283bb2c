"""Ground truth over HTTP on its own port, for benchmarks and tests; no server or agent uses it.

GET /truth, GET /overhead.jpg, GET /health, POST /reset {"world", "seed", "scenario"}, POST /place {"object",
"x", "y", "z", "yaw"}, POST /grasp {"object"}, POST /faults {"kinds": [...]}.
"""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from quartet_simulation.errors import SimulationError
from quartet_simulation.origins import LocalPagesOnly
from quartet_simulation.ros.cameras import jpeg
from quartet_simulation.ros.robot import Robot

MAX_BODY = 65_536
"""Bytes of a request."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Reset(_Body):
    """A new episode; without a world the present one again."""

    world: str | None = None
    seed: int = Field(0, ge=0)
    scenario: str | None = None


class Place(_Body):
    """Puts an object somewhere, by scenario set-up only [m, rad] in map."""

    object: str
    x: float
    y: float
    z: float
    yaw: float = 0.0


class Grasp(_Body):
    """Starts the episode with an object between the fingers."""

    object: str


class FaultKinds(_Body):
    """The faults of the bridge that are on from now."""

    kinds: list[str]


class Scoring:
    """The scoring interface of one world; what it says of `robot` it says of the first, /truth of all."""

    def __init__(self, robot: Robot, *others: Robot) -> None:
        self._robot, self._others = robot, others

    def app(self) -> Starlette:
        """Return the application; a request that makes no sense is answered with 400 and {"error"}."""
        return Starlette(
            routes=[
                Route("/truth", self._truth),
                Route("/overhead.jpg", self._overhead),
                Route("/health", self._health),
                Route("/reset", self._reset, methods=["POST"]),
                Route("/place", self._place, methods=["POST"]),
                Route("/grasp", self._grasp, methods=["POST"]),
                Route("/faults", self._faults, methods=["POST"]),
            ],
            middleware=[Middleware(LocalPagesOnly), Middleware(RequestBodyLimitMiddleware, max_body_size=MAX_BODY)],
            exception_handlers={SimulationError: _refused, ValueError: _refused},
        )

    async def _truth(self, _: Request) -> Response:
        return _json(await self._robot.world.call(lambda sim: {"time": sim.time, **sim.truth()}))

    async def _overhead(self, _: Request) -> Response:
        rgb, _depth = await self._robot.world.call(lambda sim: sim.render("overhead"))
        return Response(await asyncio.to_thread(jpeg, rgb), media_type="image/jpeg")

    async def _health(self, _: Request) -> Response:
        robot = self._robot
        status = robot.guard.status
        guard = {"latched": status.latched, "reason": status.reason, "standstill": status.standstill}
        return _json({"time": robot.world.time, "guard": guard, "faults": robot.faults.active})

    async def _reset(self, request: Request) -> Response:
        wanted = Reset.model_validate_json(await request.body() or b"{}")
        await self._robot.world.reset(wanted.world, wanted.seed, wanted.scenario)
        for robot in (self._robot, *self._others):
            await robot.guard.begin_episode()
        return await self._truth(request)

    async def _place(self, request: Request) -> Response:
        wanted = Place.model_validate_json(await request.body())
        await self._robot.world.change(
            lambda sim: sim.place_object(wanted.object, wanted.x, wanted.y, wanted.z, wanted.yaw)
        )
        return await self._truth(request)

    async def _grasp(self, request: Request) -> Response:
        wanted = Grasp.model_validate_json(await request.body())
        await self._robot.world.change(lambda sim: sim.put_in_gripper(wanted.object))
        return await self._truth(request)

    async def _faults(self, request: Request) -> Response:
        self._robot.faults.set(FaultKinds.model_validate_json(await request.body()).kinds)
        return _json({"faults": self._robot.faults.active})


def _json(value: Any, status: int = 200) -> Response:
    body = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, status, media_type="application/json")


async def _refused(_: Request, error: Exception) -> Response:
    return _json({"error": str(error)}, 400)
