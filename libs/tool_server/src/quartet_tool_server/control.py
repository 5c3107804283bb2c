"""Endpoints beside MCP: fence, stop, reset, beat, health, metrics."""

import logging
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from quartet_contracts import FENCE_SCOPE, RESET_SCOPE, STOP_SCOPE, GrantClaims, Identifier, describe
from quartet_tool_server.fence import FenceProblem
from quartet_tool_server.grants import InvalidGrant

if TYPE_CHECKING:
    from quartet_tool_server.server import ToolServer

log = logging.getLogger(__name__)
_TITLES = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden"}


class _StopOrder(BaseModel):
    """Body of /control/stop; may be left out.

    With `latch` nothing moves until a reset. With `request_id` only that request ends, and moves nothing any more.
    """

    model_config = ConfigDict(extra="forbid")

    reason: str = Field("", max_length=500)
    latch: bool = False
    request_id: Identifier | None = None

    @model_validator(mode="after")
    def _one_or_all(self) -> Self:
        if self.latch and self.request_id is not None:
            raise ValueError("latch stops everything, request_id ends one request; send one of them")
        return self


class _Refused(Exception):
    """A control request without the right; carries the answer."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.response = JSONResponse(
            {"title": _TITLES[status], "status": status, "detail": detail},
            status_code=status,
            media_type="application/problem+json",
        )


def add_control_routes(server: "ToolServer") -> None:
    """Serve /control/fence, stop, reset and beat, /health and /metrics beside the MCP endpoint."""

    def authorise(request: Request, scope: str | None) -> GrantClaims:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if server.verifier is None or kind.lower() != "bearer" or not token:
            server.metrics.refused("NO_TOKEN")
            raise _Refused(401, "send 'Authorization: Bearer <grant>' with a grant of the orchestrator")
        try:
            claims = server.verifier.check(token.strip())
        except InvalidGrant as error:
            server.metrics.refused("BAD_TOKEN")
            raise _Refused(401, f"the grant is not valid here: {error}") from error
        if scope is not None and scope not in claims.tools:
            server.metrics.refused("SCOPE")
            raise _Refused(403, f"the grant of '{claims.sub}' covers {claims.tools}, this needs '{scope}'")
        return claims

    async def fence(request: Request) -> Response:
        try:
            claims = authorise(request, FENCE_SCOPE)
            highest = await server.install_fence(claims.fence, explicit=True)
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
            order = _StopOrder.model_validate_json(await request.body() or b"{}")
        except _Refused as refused:
            return refused.response
        except ValidationError as error:
            return _Refused(400, f"{describe(error)}; valid: reason, latch, request_id").response
        reason = order.reason or f"stopped by '{claims.sub}'"
        if order.request_id is not None:
            canceled = await server.end_request(order.request_id, reason)
        else:
            canceled = await server.stop(reason, latch=order.latch)
        return JSONResponse({"canceled": canceled, "robot": server.robot.file.name, **stopped()})

    async def reset(request: Request) -> Response:
        try:
            authorise(request, RESET_SCOPE)
        except _Refused as refused:
            return refused.response
        was = await server.reset()
        return JSONResponse({"reset": was, "robot": server.robot.file.name, **stopped()})

    async def beat(request: Request) -> Response:
        """Of a caller whose motion runs: its own event loop sends it, so that it says that the caller lives."""
        try:
            claims = authorise(request, None)
        except _Refused as refused:
            return refused.response
        return JSONResponse({"motions": server.motions.beat(claims.jti)})

    def stopped() -> dict[str, Any]:
        return {"latched": server.motions.stopped is not None, "reason": server.motions.stopped or ""}

    async def health(_: Request) -> Response:
        robot = server.robot
        parts = {name: state() for name, state in server.health.items()}
        held = server.motions.stopped is not None or robot.guard.latched
        base = {"status": "ok", "robot": robot.file.name, "bridge": await robot.link.probe(), "stopped": held}
        return JSONResponse({**base, **parts})

    async def metrics(request: Request) -> Response:
        server.measure()
        status, kind, body = server.exposition.answer(request.headers.get("authorization"))
        return Response(body, status, media_type=kind)

    route = server.mcp.custom_route
    route("/control/fence", methods=["POST"])(fence)
    route("/control/stop", methods=["POST"])(stop)
    route("/control/reset", methods=["POST"])(reset)
    route("/control/beat", methods=["POST"])(beat)
    route("/health", methods=["GET"])(health)
    route("/metrics", methods=["GET"])(metrics)
