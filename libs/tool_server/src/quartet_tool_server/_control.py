"""HTTP endpoints beside MCP: fence, stop, reset, beat, health, metrics."""

import logging
import time
from collections.abc import Callable
from typing import Any, Self

from fastmcp import FastMCP
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from quartet_contracts import FENCE_SCOPE, OUT_OF_TIME, RESET_SCOPE, STOP_SCOPE, GrantClaims, Identifier, describe
from quartet_process import BACKGROUND, Exposition, InvalidTokenError, TokenOutOfTimeError
from quartet_safety.motion import FenceError
from quartet_tool_server._grants import GrantVerifier
from quartet_tool_server._safety_controller import SafetyController
from quartet_tool_server.errors import ToolServerError
from quartet_tool_server.metrics import Metrics

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


class _RefusedError(ToolServerError):
    """A control request that is refused; carries the answer."""

    def __init__(self, status: int, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.response = _problem(status, _TITLES[status], detail, **more)


class ControlEndpoints:
    """The control, health and metrics endpoints of one server. Without a `verifier` no control request is allowed.

    `health` returns what /health reports beside the bridge, `measure` updates the metrics before they are read.
    """

    def __init__(
        self,
        safety: SafetyController,
        verifier: GrantVerifier | None,
        metrics: Metrics,
        exposition: Exposition,
        *,
        health: Callable[[], dict[str, Any]],
        measure: Callable[[], None],
    ) -> None:
        self._safety, self._verifier, self._metrics, self._exposition = safety, verifier, metrics, exposition
        self._health, self._measure = health, measure
        self._robot = safety.robot

    def add_to(self, mcp: FastMCP[Any]) -> None:
        """Serve the endpoints beside the MCP endpoint."""
        for path, endpoint in (
            ("fence", self.fence),
            ("stop", self.stop),
            ("reset", self.reset),
            ("beat", self.beat),
        ):
            mcp.custom_route(f"/control/{path}", methods=["POST"])(endpoint)
        mcp.custom_route("/health", methods=["GET"])(self.health)
        mcp.custom_route("/metrics", methods=["GET"])(self.metrics)

    async def fence(self, request: Request) -> Response:
        """Install the fence of the request's grant; 409 if a newer one is in force."""
        try:
            claims = self._authorise(request, FENCE_SCOPE)
            highest = await self._safety.install_fence(claims.fence, explicit=True)
        except _RefusedError as refused:
            return refused.response
        except FenceError as error:
            log.error("%s", error)
            return _problem(500, "Fence not installed", str(error))
        if highest > claims.fence:
            detail = f"fence {claims.fence} is below {highest}, which is in force; count up from there"
            return _problem(409, "Fence is older", detail, fence=highest)
        return JSONResponse({"fence": highest, "robot": self._robot.file.name})

    async def stop(self, request: Request) -> Response:
        """Stop what this server moves, or end one request."""
        try:
            claims = self._authorise(request, STOP_SCOPE)
            order = _StopOrder.model_validate_json(await request.body() or b"{}")
        except _RefusedError as refused:
            return refused.response
        except ValidationError as error:
            return _RefusedError(400, f"{describe(error)}; valid: reason, latch, request_id").response
        reason = order.reason or f"stopped by '{claims.sub}'"
        if order.request_id is not None:
            canceled = await self._safety.end_request(order.request_id, reason)
        else:
            canceled = await self._safety.stop(reason, latch=order.latch)
        return JSONResponse({"canceled": canceled, "robot": self._robot.file.name, **self._latched()})

    async def reset(self, request: Request) -> Response:
        """Release the latch."""
        try:
            self._authorise(request, RESET_SCOPE)
        except _RefusedError as refused:
            return refused.response
        was_stopped = await self._safety.reset()
        return JSONResponse({"reset": was_stopped, "robot": self._robot.file.name, **self._latched()})

    async def beat(self, request: Request) -> Response:
        """Note a heartbeat of a caller whose motion runs; its own event loop sends it, which shows that it lives."""
        try:
            claims = self._authorise(request, None)
        except _RefusedError as refused:
            return refused.response
        return JSONResponse({"motions": self._safety.leases.beat(claims.jti)})

    async def health(self, _: Request) -> Response:
        """Report bridge, latch, fence and the parts of this server."""
        robot = self._robot
        stopped = self._safety.stopped is not None or robot.guard.latched
        status, base = BACKGROUND.health()
        base = {**base, "robot": robot.file.name, "bridge": await robot.link.probe()}
        state = {
            "stopped": stopped,
            "stops": self._safety.stops,
            "fence": self._safety.fences.highest,
            "time": time.time(),
        }
        return JSONResponse({**base, **state, **self._health()}, status_code=status)

    async def metrics(self, request: Request) -> Response:
        """Report the metrics in Prometheus' format."""
        self._measure()
        status, kind, body = self._exposition.answer(request.headers.get("authorization"))
        return Response(body, status, media_type=kind)

    def _authorise(self, request: Request, scope: str | None) -> GrantClaims:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if self._verifier is None or kind.lower() != "bearer" or not token:
            self._metrics.refused("NO_TOKEN")
            raise _RefusedError(401, "send 'Authorization: Bearer <grant>' with a grant of the orchestrator")
        try:
            claims = self._verifier.check(token.strip())
        except InvalidTokenError as error:
            self._metrics.refused("BAD_TOKEN")
            code = {"code": OUT_OF_TIME} if isinstance(error, TokenOutOfTimeError) else {}
            raise _RefusedError(401, f"the grant is not valid here: {error}", **code) from error
        if scope is not None and scope not in claims.tools:
            self._metrics.refused("SCOPE")
            raise _RefusedError(403, f"the grant of '{claims.sub}' covers {claims.tools}, this needs '{scope}'")
        return claims

    def _latched(self) -> dict[str, Any]:
        return {"latched": self._safety.stopped is not None, "reason": self._safety.stopped or ""}


def _problem(status: int, title: str, detail: str, **more: Any) -> JSONResponse:
    body = {"title": title, "status": status, "detail": detail, **more}
    return JSONResponse(body, status_code=status, media_type="application/problem+json")
