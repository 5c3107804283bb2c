"""Mutated requests to the HTTP APIs of orchestrator, gateway and stop service, and to the control endpoints."""

import asyncio
import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from quartet_benchmarks.mutations.http_surface import FIRST_ERROR_STATUS, HttpSurface
from quartet_benchmarks.mutations.mutate import STRANGE, Mutator, dump
from quartet_contracts import GRANT_HEADER, TASK_HEADER
from quartet_deployment import SERVERS, Stack

RAW_TIMEOUT_S = 5.0
"""A server may wait for the rest of half a request."""
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD")
SENTENCE = "sing a song about the sea"
HEADERS = (
    "Content-Type",
    "Authorization",
    "Accept",
    "Idempotency-Key",
    "Last-Event-ID",
    TASK_HEADER,
    GRANT_HEADER,
    "Cookie",
)
GATEWAY_STATUSES = frozenset({502, 503, 504})


@dataclass(frozen=True)
class Target:
    """Operation of a process, with a valid request."""

    url: str
    method: str
    path: str
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    query: dict[str, Any] = field(default_factory=dict[str, Any])
    harmful: bool = False
    """Whether a request that is still valid after its mutation would move or stop the robot."""


class HttpApiSurface(HttpSurface):
    """Sends mutated requests to all targets; answers with status 500 are kept in `failures`."""

    name = "http"

    def __init__(self, stack: Stack, mutator: Mutator, bearers: Mapping[str, str]) -> None:
        """Take `bearers`, the credential of each process that asks for one."""
        super().__init__(stack, mutator)
        self._bearers = bearers
        self._targets: list[Target] = []

    async def open(self) -> None:
        """Read the operations of the orchestrator from its OpenAPI document."""
        self._targets = [*await self._orchestrator(), *self._others()]

    async def _orchestrator(self) -> list[Target]:
        url = self._stack.url
        headers = self._authorization("orchestrator")
        document = (await self._http.get(f"{url}/openapi.json", headers=headers)).raise_for_status().json()
        targets: list[Target] = []
        for path, operations in document["paths"].items():
            if "{" in path and "events" in path:
                # The stream of an unknown task is refused; that of a known one would stay open.
                path = path.replace("{task_id}", "no-such-task")
            for method, operation in operations.items():
                schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
                body = None if schema is None else example(schema, document)
                skills = path.startswith("/skills")
                if path == "/tasks" and method == "post":
                    body = {"sentence": SENTENCE, "timeout_s": 0.001, "queue_timeout_s": 0.001, "budget": {"turns": 1}}
                targets.append(Target(url, method.upper(), path, body, headers, harmful=skills))
        return targets

    def _others(self) -> list[Target]:
        of = self._stack.url_of
        gateway, stop = self._authorization("gateway"), self._authorization("stop")
        chat = {
            "model": "pick",
            "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
            "tools": [{"type": "function", "function": {"name": "report_x", "parameters": {"type": "object"}}}],
            "temperature": 0.5,
            "max_tokens": 10,
        }
        targets = [
            Target(
                of("gateway"), "POST", "/v1/chat/completions", chat, {**gateway, GRANT_HEADER: self._stack.grant([])}
            ),
            Target(of("gateway"), "GET", "/v1/usage", None, gateway, {"task": "t1"}),
            Target(of("gateway"), "GET", "/v1/models", None, gateway),
            Target(of("gateway"), "GET", "/metrics", None, gateway),
            Target(of("stop"), "POST", "/stop", {"robot": "no-such-robot", "reason": "x"}, stop, harmful=True),
            Target(of("stop"), "POST", "/reset", {"robot": "no-such-robot"}, stop),
            Target(of("stop"), "GET", "/state", None, stop),
            Target(of("stop"), "GET", "/metrics", None, stop),
        ]
        for server in SERVERS:
            for name, body in (
                ("fence", None),
                ("stop", {"reason": "x", "request_id": "r1"}),
                ("reset", None),
                ("beat", None),
            ):
                targets.append(Target(of(server), "POST", f"/control/{name}", body, {"Authorization": "Bearer x.y.z"}))
            targets += [Target(of(server), "GET", path) for path in ("/health", "/metrics")]
        return targets

    def _authorization(self, process: str) -> dict[str, str]:
        bearer = self._bearers.get(process)
        return {"Authorization": f"Bearer {bearer}"} if bearer else {}

    async def _one(self) -> None:
        target = self._mutator.dice.choice(self._targets)
        if self._mutator.dice.random() < 0.15:
            await self._raw(target)
            return
        dice, headers = self._mutator.dice, dict(target.headers)
        content = self._content(target)
        if content is not None:
            headers["Content-Type"] = "application/json"
        if dice.random() < 0.2:
            headers[dice.choice(HEADERS)] = self._header()
        method = dice.choice(METHODS) if dice.random() < 0.1 and not target.harmful else target.method
        url = target.url + self._path(target)
        try:
            response = await self._http.request(method, url, content=content, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            if isinstance(error, httpx.TimeoutException | httpx.ConnectError):
                self.failures.append(f"{method} {url}: {type(error).__name__}")
            return
        if response.status_code >= FIRST_ERROR_STATUS and response.status_code not in GATEWAY_STATUSES:
            self.failures.append(f"{method} {url} {str(content)[:300]}: {response.status_code} {response.text[:300]}")

    def _content(self, target: Target) -> bytes | None:
        if target.body is None:
            return self._mutator.text({"unexpected": "body"}) if self._mutator.dice.random() < 0.2 else None
        if not target.harmful:
            return self._mutator.text(target.body)
        # An unknown field keeps the request invalid whatever the mutation did.
        changed = self._mutator.value(target.body)
        changed = changed if isinstance(changed, dict) else {"value": changed}
        return dump({**changed, "unknown field of a mutation": self._mutator.dice.choice(STRANGE)})

    def _path(self, target: Target) -> str:
        dice = self._mutator.dice

        def fill(_: re.Match[str]) -> str:
            strange = str(dice.choice(STRANGE))[:500].encode("utf-8", "replace").decode()
            return quote(strange if dice.random() < 0.7 else "t1", safe="")

        path = re.sub(r"\{[^}]*\}", fill, target.path)
        if dice.random() < 0.05:
            path += quote(self._mutator.damaged(b"/x"))
        query = {k: v if dice.random() < 0.5 else dice.choice(STRANGE) for k, v in target.query.items()}
        if dice.random() < 0.2:
            query[dice.choice(["limit", "state", "timeout_s", "robot", "task", "after"])] = dice.choice(STRANGE)
        text = "&".join(
            f"{quote(k)}={quote(str(v)[:300].encode('utf-8', 'replace').decode())}" for k, v in query.items()
        )
        return f"{path}?{text}" if text else path

    def _header(self) -> str:
        strange = str(self._mutator.dice.choice([*STRANGE, "application/xml", "text/plain; charset=utf-16", "Bearer "]))
        return "".join(c for c in strange[:4000] if c.isprintable() and ord(c) < 128)

    async def _raw(self, target: Target) -> None:
        """Send the request as damaged bytes, which no client would send."""
        body = dump({"unknown field of a mutation": 1}) if target.harmful else dump(target.body)
        parts = urlsplit(target.url)
        headers = {"Host": parts.netloc, "Content-Length": str(len(body)), "Content-Type": "application/json"}
        # No credential, because a damaged request of an authorised client could be another valid one.
        lines = [f"{target.method} {target.path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
        data = self._mutator.damaged("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            async with asyncio.timeout(RAW_TIMEOUT_S):
                reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
                try:
                    writer.write(data)
                    writer.write_eof()
                    await reader.read(65536)
                finally:
                    writer.close()
                    await writer.wait_closed()


def example(schema: dict[str, Any], document: dict[str, Any], depth: int = 0) -> Any:
    """Return a value that fits the types of `schema`."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return example(document["components"]["schemas"][name], document, depth + 1)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return example(schema[several][0], document, depth + 1)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {}) if depth < 6 else {}
            return {name: example(entry, document, depth + 1) for name, entry in properties.items()}
        case "array":
            return [example(schema.get("items", {}), document, depth + 1)]
        case "integer":
            return 1
        case "number":
            return 0.5
        case other:
            return {"boolean": True, "null": None}.get(str(other), "text")
