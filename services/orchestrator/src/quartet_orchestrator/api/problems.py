"""Errors as application/problem+json (RFC 9457): what is wrong, what is valid, what to do."""

import json
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from quartet_bus import BusUnavailable, KeyReused, QuestionProblem, QueueFull, StoreFull
from quartet_process import redact


class Problem(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, title: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.title = title
        self.detail = detail


EXPECTED: dict[type[Exception], tuple[int, str]] = {
    BusUnavailable: (503, "Store not available"),
    StoreFull: (503, "Store full"),
    QueueFull: (503, "Queue full"),
    KeyReused: (409, "Idempotency key reused"),
    QuestionProblem: (409, "No such question"),
}
"""What the bus may answer: status and title; its message is the detail."""


def as_problem(error: Exception) -> Problem | None:
    """The answer that `error` is, None for a fault of the orchestrator's own."""
    if isinstance(error, Problem):
        return error
    for kind in type(error).__mro__:
        if kind in EXPECTED:
            status, title = EXPECTED[kind]
            return Problem(status, title, str(error))
    return None


def problem_response(status: int, title: str, detail: str, **more: Any) -> Response:
    body = {"title": title, "status": status, "detail": detail, **more}
    return Response(redact(json.dumps(body)), status_code=status, media_type="application/problem+json")


def install(app: FastAPI) -> None:
    """Answer every error of `app` as a problem."""

    @app.exception_handler(Problem)
    async def _problem(_: Request, error: Problem) -> Response:
        return problem_response(error.status, error.title, error.detail)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> Response:
        faults = [_fault(fault) for fault in error.errors()]
        return problem_response(422, "Request not valid", "; ".join(faults), faults=faults)

    async def expected(_: Request, error: Exception) -> Response:
        problem = as_problem(error)
        assert problem is not None
        return problem_response(problem.status, problem.title, problem.detail)

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
            detail = f"there is nothing at {request.url.path}; the API is listed at /openapi.json"
        elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            detail = f"{request.method} is not possible at {request.url.path}; see /openapi.json"
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
