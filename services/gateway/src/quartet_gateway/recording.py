"""Requests to providers and their answers, kept with all secrets struck, as files of the conformance suite."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import httpx
import yaml

from quartet_gateway.models import Model
from quartet_process import redact_all
from quartet_process.redact import HIDDEN, SECRET_NAME

STRUCK = "struck-0000000000"
"""Stands in place of a secret in `environment`, long enough to be found again wherever it should not be."""
_SECRET_FIELD = re.compile(r"(authorization|api[-_]?key|secret|password|(access|session)[-_]?token)$", re.IGNORECASE)
_VARIABLES = {
    "gemini": ("GEMINI_", "GOOGLE_API"),
    "vertex_ai": ("VERTEXAI_",),
    "bedrock": ("AWS_",),
    "bedrock_converse": ("AWS_",),
}
"""How the variables of a provider begin, where it is not with its name."""


@dataclass(frozen=True)
class Exchange:
    """A request to a provider, and what came back; without headers."""

    path: str
    sent: Any
    status: int
    body: Any


@contextmanager
def recorded() -> Iterator[list[Exchange]]:
    """Note what HTTP clients of this process send and get; for one process at a time, and not while others use it."""
    exchanges: list[Exchange] = []
    send = httpx.AsyncClient.send

    async def send_and_note(self: httpx.AsyncClient, request: httpx.Request, **more: Any) -> httpx.Response:
        response = await send(self, request, **more)
        body = await response.aread()
        exchanges.append(Exchange(request.url.path, _readable(request.content), response.status_code, _readable(body)))
        return response

    httpx.AsyncClient.send = send_and_note
    try:
        yield exchanges
    finally:
        httpx.AsyncClient.send = send


def write_recording(
    folder: Path, model: Model, steps: Mapping[str, list[Exchange]], environment: Mapping[str, str]
) -> Path:
    """Write the exchanges of one model, by the step that made them, to a file of `folder`; return it.

    Of a step with several, after retries, the last has the step's name and the others have a number behind it.
    """
    answers: dict[str, Any] = {}
    requests: dict[str, Any] = {}
    for step, exchanges in steps.items():
        for number, one in enumerate(exchanges, 1):
            name = step if number == len(exchanges) else f"{step}_{number}"
            answers[name] = {"status": one.status, "body": one.body}
            requests[name] = {"path": one.path, "body": one.sent}
    paths = [one.path for exchanges in steps.values() for one in exchanges]
    chat = paths and paths[0].endswith("/chat/completions") and model.provider != "azure"
    fields = {
        "model": model.name,
        "path": paths[0].removesuffix("/chat/completions") if chat else "",
        "environment": _variables(model, environment),
        "takes_images": model.takes_images,
        "reasoning_effort": model.parameters.get("reasoning_effort"),
        "answers": answers,
        "requests": requests,
    }
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = folder / f"{re.sub(r'[^A-Za-z0-9]+', '_', model.name).strip('_').lower()}.yaml"
    secrets = frozenset(value for name, value in environment.items() if value and SECRET_NAME.search(name))
    text = yaml.safe_dump(_struck(fields, secrets), sort_keys=False, allow_unicode=True, width=120)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as opened:
        opened.write(text)
    return file


def _variables(model: Model, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the provider; of secrets, their names alone."""
    begins = _VARIABLES.get(model.provider, (f"{model.provider.upper()}_",))
    named = {name: value for name, value in sorted(environment.items()) if name.startswith(begins) and value}
    return {name: STRUCK if SECRET_NAME.search(name) else value for name, value in named.items()}


def _struck(value: Any, secrets: frozenset[str]) -> Any:
    """Return `value` without secrets: those of the environment, what looks like one, and fields that are named so."""
    if isinstance(value, dict):
        struck = {name: _struck(one, secrets) for name, one in cast("dict[str, Any]", value).items()}
        named = {name for name, one in struck.items() if isinstance(one, str) and _SECRET_FIELD.search(name)}
        return {name: HIDDEN if name in named and one != STRUCK else one for name, one in struck.items()}
    if isinstance(value, list):
        return [_struck(one, secrets) for one in cast("list[Any]", value)]
    return HIDDEN if isinstance(value, str) and value in secrets else redact_all(value)


def _readable(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")
