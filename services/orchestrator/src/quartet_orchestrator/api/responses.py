"""Responses of the API: errors as application/problem+json (RFC 9457), and pictures."""

import json
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from quartet_bus import BusUnavailableError, KeyReusedError, QuestionError, QueueFullError, StoreFullError
from quartet_orchestrator.errors import RequestError
from quartet_process import redact

IMAGE_TYPES = ("image/jpeg", "image/png")
"""Types of pictures that are served: SVG and HTML carry scripts."""
IMAGE_HEADERS = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}


EXPECTED: dict[type[Exception], tuple[int, str]] = {
    BusUnavailableError: (503, "Store not available"),
    StoreFullError: (503, "Store full"),
    QueueFullError: (503, "Queue full"),
    KeyReusedError: (409, "Idempotency key reused"),
    QuestionError: (409, "No such question"),
}
"""Errors of the bus that a request may cause: status and title. The error's message is the detail."""


PROBLEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["title", "status", "detail"],
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "faults": {"type": "array", "items": {"type": "string"}},
    },
}
PROBLEM_RESPONSES: dict[int | str, dict[str, Any]] = {
    statuses: {"description": description, "content": {"application/problem+json": {"schema": PROBLEM_SCHEMA}}}
    for statuses, description in (("4XX", "The request is refused."), ("5XX", "The request cannot be served now."))
}
"""Errors of every operation, as the OpenAPI document states them."""


def as_request_error(error: Exception) -> RequestError | None:
    """Return the answer for an expected error, None for a fault of the orchestrator itself."""
    if isinstance(error, RequestError):
        return error
    for kind in type(error).__mro__:
        if kind in EXPECTED:
            status, title = EXPECTED[kind]
            return RequestError(status, title, str(error))
    return None


def problem_response(status: int, title: str, detail: str, **more: Any) -> Response:
    """Return a problem document of RFC 9457; secrets in it are struck out."""
    body = {"title": title, "status": status, "detail": detail, **more}
    return Response(redact(json.dumps(body)), status_code=status, media_type="application/problem+json")


def image_response(data: bytes, media_type: str, headers: dict[str, str]) -> Response:
    """Return a picture from a robot's server so that nothing in it runs: it is served on the origin of the session.

    Raises RequestError 404 for a type that is not served.
    """
    if media_type not in IMAGE_TYPES:
        valid = ", ".join(IMAGE_TYPES)
        raise RequestError(404, "No picture", f"the image has the type '{media_type[:80]}'; valid: {valid}")
    return Response(data, media_type=media_type, headers={**headers, **IMAGE_HEADERS})


def install_error_handlers(app: FastAPI) -> None:
    """Answer every error of `app` with a problem document."""

    @app.exception_handler(RequestError)
    async def _problem(_: Request, error: RequestError) -> Response:
        return problem_response(error.status, error.title, error.detail)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> Response:
        faults = [_fault(fault) for fault in error.errors()]
        return problem_response(422, "Request not valid", "; ".join(faults), faults=faults)

    async def expected(_: Request, error: Exception) -> Response:
        answer = as_request_error(error)
        assert answer is not None
        return problem_response(answer.status, answer.title, answer.detail)

    for kind in EXPECTED:
        app.add_exception_handler(kind, expected)

    @app.exception_handler(Exception)
    async def _fault_of_ours(_: Request, error: Exception) -> Response:
        text = f"{type(error).__name__}; this is a fault of the orchestrator, its log has the details"
        return problem_response(500, "Internal Server Error", text)

    @app.exception_handler(HTTPException)
    async def _other(request: Request, error: HTTPException) -> Response:
        detail = str(error.detail)
        if error.status_code == HTTPStatus.NOT_FOUND:
            detail = f"there is nothing at {request.url.path}; /openapi.json lists the API"
        elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            detail = f"{request.method} is not allowed at {request.url.path}; /openapi.json lists the API"
        return problem_response(error.status_code, HTTPStatus(error.status_code).phrase, detail)


def _fault(fault: Any) -> str:
    where = [str(part) for part in fault["loc"] if part not in {"body", "query", "path"}]
    field = ".".join(where) or "request body"
    if fault["type"] == "json_invalid":
        return f"the request body is not JSON: {fault.get('ctx', {}).get('error', fault['msg'])}"
    if fault["type"] == "string_too_short":
        return f"{field}: it is empty; say what the robot should do"
    if fault["type"] == "missing" and not where:
        return "the request body is missing; send a JSON object"
    text = f"{field}: {fault['msg'].removeprefix('Value error, ')}"
    given = fault.get("input")
    if fault["type"] != "missing" and not isinstance(given, dict | list):
        text += f" (got {str(given)[:80]!r})"
    return text
