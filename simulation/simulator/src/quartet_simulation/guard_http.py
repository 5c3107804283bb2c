"""The guard's own HTTP port: a stop that passes a hung rosbridge.

POST /stop {"reason"}, POST /reset, GET /state; every answer is the guard's state. Requests wait for nothing but the
simulation's next look at its commands, also while it renders or plans.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from quartet_simulation.guard import RobotGuard
from quartet_simulation.http import HttpServer, as_json


class StopOrder(BaseModel):
    """Who stops, and why."""

    model_config = ConfigDict(extra="forbid")

    reason: Annotated[str, Field(max_length=500)] = "stopped over HTTP"


def guard_server(guard: RobotGuard, token: str | None) -> HttpServer:
    """With `token` only who sends it as bearer token is served."""

    async def stop(body: bytes) -> tuple[str, bytes]:
        latency_s = await guard.stop(StopOrder.model_validate_json(body or b"{}").reason)
        return as_json({**guard.state(), "latency_ms": round(latency_s * 1e3, 2)})

    async def reset(_: bytes) -> tuple[str, bytes]:
        await guard.reset()
        return as_json(guard.state())

    async def state(_: bytes) -> tuple[str, bytes]:
        return as_json(guard.state())

    return HttpServer({("POST", "/stop"): stop, ("POST", "/reset"): reset, ("GET", "/state"): state}, token)
