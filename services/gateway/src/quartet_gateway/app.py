"""The HTTP interface: chat completions in OpenAI's format, usage, health, metrics."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

from opentelemetry.trace import SpanKind
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quartet_gateway.access import Access
from quartet_gateway.config import AGENTS, OPTIONAL
from quartet_gateway.errors import GatewayError, InvalidRequestError, wire
from quartet_gateway.gateway import Gateway
from quartet_gateway.keepalive import announcement, respond
from quartet_gateway.requests import MAX_BODY, read_request
from quartet_gateway.task_grants import TaskGrants
from quartet_process import Exposition, Secret, correlation_ids, tracing
from quartet_process.health import metrics_route


def create_app(gateway: Gateway, access: Access, grants: TaskGrants, metrics_token: Secret | None = None) -> Starlette:
    """Return the application: POST /v1/chat/completions, GET /v1/models, /v1/usage, /health and /metrics."""
    exposition = Exposition("gateway", gateway.metrics.registry, token=metrics_token)

    async def chat(request: Request) -> Response:
        _check(access, request, None)
        task, for_request = grants.read(request.headers)
        asked = read_request(await _body(request))
        _check(access, request, asked.model)

        async def answer() -> dict[str, Any]:
            with (
                correlation_ids(task_id=task or None, request_id=for_request or None, agent=asked.model),
                tracing.span("POST /v1/chat/completions", kind=SpanKind.SERVER),
            ):
                return await gateway.answer(asked, task=task)

        return await respond(request.headers, answer())

    async def models(request: Request) -> Response:
        _check(access, request, None)
        data = [
            {"id": agent, "object": "model", "owned_by": "quartet", "models": names}
            for agent, names in gateway.model_names().items()
        ]
        return JSONResponse({"object": "list", "data": data})

    async def usage(request: Request) -> Response:
        _check(access, request, None)
        task = request.query_params.get("task")
        if task:
            return JSONResponse(
                {"task": task, "agents": {a: asdict(s) for a, s in gateway.ledger.of_task(task).items()}}
            )
        return JSONResponse({"agents": {a: _budget(gateway, a) for a in AGENTS}})

    async def health(_: Request) -> Response:
        problems = gateway.problems()
        body: dict[str, Any] = {"status": "ok", "models": gateway.model_names()}
        if problems:
            body["problems"] = problems
        ready = OPTIONAL.issuperset(problems)
        if not ready:
            body["status"] = "not configured"
        return JSONResponse(body, status_code=200 if ready else 503, headers=announcement())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await gateway.close()

    return Starlette(
        routes=[
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/v1/models", models),
            Route("/v1/usage", usage),
            Route("/health", health),
            metrics_route(exposition, gateway.measure),
        ],
        lifespan=lifespan,
        exception_handlers={GatewayError: _refused},
        middleware=[Middleware(tracing.TraceContextMiddleware)],
    )


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, GatewayError)
    return JSONResponse(wire(error), status_code=error.status)


async def _body(request: Request) -> bytes:
    """Return the body; raise InvalidRequestError as soon as more than MAX_BODY bytes are announced or come."""
    announced = request.headers.get("content-length", "")
    body = bytearray()
    if not announced.isdigit() or int(announced) <= MAX_BODY:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                break
        else:
            return bytes(body)
    raise InvalidRequestError(f"the request has more than {MAX_BODY} bytes; send fewer or smaller images")


def _check(access: Access, request: Request, agent: str | None) -> None:
    access.check(agent, request.headers, request.client.host if request.client else None)


def _budget(gateway: Gateway, agent: str) -> dict[str, Any]:
    limits = gateway.limits(agent)
    return {
        **asdict(gateway.ledger.of_agent(agent, limits)),
        "budget_usd": limits.budget_usd,
        "budget_tokens": limits.budget_tokens,
        "budget_period": limits.budget_period,
    }
