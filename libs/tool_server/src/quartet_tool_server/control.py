"""Endpoints beside MCP: fence, stop, health, metrics."""

import logging
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from quartet_contracts import FENCE_SCOPE, STOP_SCOPE, GrantClaims
from quartet_tool_server.fence import FenceProblem
from quartet_tool_server.grants import InvalidGrant

if TYPE_CHECKING:
    from quartet_tool_server.server import ToolServer

log = logging.getLogger(__name__)


class _Refused(Exception):
    """A control request without the right; carries the answer."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.response = JSONResponse(
            {"title": "Unauthorized" if status == 401 else "Forbidden", "status": status, "detail": detail},
            status_code=status,
            media_type="application/problem+json",
        )


def add_control_routes(server: "ToolServer") -> None:
    """Serve /control/fence, /control/stop, /health and /metrics beside the MCP endpoint."""

    def authorise(request: Request, scope: str) -> GrantClaims:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if server.verifier is None or kind.lower() != "bearer" or not token:
            server.metrics.refused("NO_TOKEN")
            raise _Refused(401, "send 'Authorization: Bearer <grant>' with a grant of the orchestrator")
        try:
            claims = server.verifier.check(token.strip())
        except InvalidGrant as error:
            server.metrics.refused("BAD_TOKEN")
            raise _Refused(401, f"the grant is not valid here: {error}") from error
        if scope not in claims.tools:
            server.metrics.refused("SCOPE")
            raise _Refused(403, f"the grant of '{claims.sub}' covers {claims.tools}, this needs '{scope}'")
        return claims

    async def fence(request: Request) -> Response:
        try:
            claims = authorise(request, FENCE_SCOPE)
            highest = await server.install_fence(claims.fence)
        except _Refused as refused:
            return refused.response
        except FenceProblem as error:
            log.error("%s", error)
            return JSONResponse(
                {"title": "Fence not installed", "status": 500, "detail": str(error)},
                status_code=500,
                media_type="application/problem+json",
            )
        if highest > claims.fence:
            return JSONResponse(
                {
                    "title": "Fence is older",
                    "status": 409,
                    "detail": f"fence {claims.fence} is below {highest}, which is in force; count up from there",
                    "fence": highest,
                },
                status_code=409,
                media_type="application/problem+json",
            )
        return JSONResponse({"fence": highest, "robot": server.robot.file.name})

    async def stop(request: Request) -> Response:
        try:
            claims = authorise(request, STOP_SCOPE)
        except _Refused as refused:
            return refused.response
        canceled = await server.stop(f"stopped by '{claims.sub}'")
        return JSONResponse({"canceled": canceled, "robot": server.robot.file.name})

    async def health(_: Request) -> Response:
        robot = server.robot
        parts = {name: state() for name, state in server.health.items()}
        return JSONResponse({"status": "ok", "robot": robot.file.name, "bridge": await robot.link.probe(), **parts})

    async def metrics(_: Request) -> Response:
        return Response(server.scrape(), media_type="text/plain; version=0.0.4; charset=utf-8")

    route = server.mcp.custom_route
    route("/control/fence", methods=["POST"])(fence)
    route("/control/stop", methods=["POST"])(stop)
    route("/health", methods=["GET"])(health)
    route("/metrics", methods=["GET"])(metrics)
