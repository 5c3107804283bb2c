"""The guard's own HTTP port: a stop that passes a hung rosbridge.

POST /stop {"reason"}, POST /reset, GET /state; every answer is the guard's state. Requests wait for nothing but the
simulation's next look at its commands, also while it renders or plans.
"""

from __future__ import annotations

import json

from quartet_process import Secret
from quartet_simulation.guard import RobotGuard
from quartet_simulation.http import HttpServer, as_json

MAX_REASON = 500
DEFAULT_REASON = "stopped over HTTP"


def guard_server(guard: RobotGuard, token: Secret | None) -> HttpServer:
    """With `token` only who sends it as bearer token is served."""

    async def stop(body: bytes) -> tuple[str, bytes]:
        latency_s = await guard.stop(_reason(body))
        return as_json({**guard.state(), "latency_ms": round(latency_s * 1e3, 2)})

    async def reset(_: bytes) -> tuple[str, bytes]:
        await guard.reset()
        return as_json(guard.state())

    async def state(_: bytes) -> tuple[str, bytes]:
        return as_json(guard.state())

    return HttpServer({("POST", "/stop"): stop, ("POST", "/reset"): reset, ("GET", "/state"): state}, token)


def _reason(body: bytes) -> str:
    """Who may stop the robot stops it, whatever the body looks like: only the reason is lost."""
    try:
        reason = json.loads(body)["reason"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return DEFAULT_REASON
    return (reason.strip()[:MAX_REASON] if isinstance(reason, str) else "") or DEFAULT_REASON
