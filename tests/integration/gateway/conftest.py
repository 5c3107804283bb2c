"""Provider doubles: real HTTP servers that speak OpenAI's (or Anthropic's) format and fail as providers do."""

import asyncio
import importlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quartet_gateway import Gateway, GatewayFile, Settings, SpendingLedger, TaskGrants, choose_models, create_app
from quartet_gateway.access import Access
from quartet_process import Secret
from support.http_server import serve_app


class Provider:
    """Answers in the order of `plan`, then with success.

    Entries of the plan: a status, "hang", "cut", "html", "empty", a body or (status, body).
    """

    def __init__(self) -> None:
        self.plan: list[Any] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
        self.retry_after: str | None = None
        self.url = ""
        self._released = asyncio.Event()

    async def chat(self, request: Request) -> Response:
        self.requests.append(await request.json())
        self.headers.append(dict(request.headers))
        todo = self.plan.pop(0) if self.plan else None
        if isinstance(todo, dict):
            return JSONResponse(todo)
        if isinstance(todo, tuple):
            return JSONResponse(todo[1], status_code=todo[0])
        if isinstance(todo, int):
            headers = {"retry-after": self.retry_after} if self.retry_after else None
            error = {"error": {"message": f"status {todo}", "type": "double", "code": str(todo)}}
            return JSONResponse(error, status_code=todo, headers=headers)
        if todo == "hang":
            await self._released.wait()
        if todo == "cut":
            return Response(json.dumps(self.completion())[:60], media_type="application/json")
        if todo == "html":
            return Response("<html>a proxy's error page</html>", media_type="text/html")
        if todo == "empty":
            return JSONResponse({**self.completion(), "choices": []})
        return JSONResponse(self.completion())

    async def messages(self, request: Request) -> Response:
        """Anthropic's endpoint."""
        self.requests.append(await request.json())
        self.headers.append(dict(request.headers))
        return JSONResponse(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "claude",
                "content": [{"type": "text", "text": "hello"}],
                "stop_reason": "end_turn",
                "usage": {
                    "input_tokens": 100,
                    "output_tokens": 10,
                    "cache_read_input_tokens": 900,
                    "cache_creation_input_tokens": 0,
                },
            }
        )

    def completion(self) -> dict[str, Any]:
        call = {"name": "pick", "arguments": '{"object_name": "red can"}'}
        message = {
            "role": "assistant",
            "content": "I pick.",
            "tool_calls": [{"id": "call_1", "type": "function", "function": call}],
        }
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "double",
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
            "usage": self.usage,
        }

    def release(self) -> None:
        self._released.set()

    @asynccontextmanager
    async def serve(self) -> AsyncIterator["Provider"]:
        app = Starlette(
            routes=[
                Route("/v1/chat/completions", self.chat, methods=["POST"]),
                Route("/v1/messages", self.messages, methods=["POST"]),
            ]
        )
        async with serve_app(app) as url:
            self.url = f"{url}/v1"
            try:
                yield self
            finally:
                self.release()


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with Provider().serve() as one:
        yield one


@pytest.fixture
async def other() -> AsyncIterator[Provider]:
    async with Provider().serve() as one:
        yield one


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The back-off's shape stays, its unit is 20 ms. No provider key of this machine is seen."""
    utils = importlib.import_module("litellm.utils")
    monkeypatch.setattr(utils, "INITIAL_RETRY_DELAY", 0.02)
    monkeypatch.setattr(utils, "JITTER", 0.0)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_API_BASE"):
        monkeypatch.delenv(name, raising=False)


class Caller:
    """A gateway in this process, asked over HTTP semantics."""

    def __init__(self, gateway: Gateway, app: Starlette, http: httpx.AsyncClient) -> None:
        self.gateway = gateway
        self.app = app
        self.http = http

    async def ask(self, agent: str = "pick", headers: dict[str, str] | None = None, **body: Any) -> httpx.Response:
        body = {"messages": [{"role": "user", "content": "hi"}], **body}
        return await self.http.post("/v1/chat/completions", json={"model": agent, **body}, headers=headers)

    async def metric(self, line: str) -> float:
        """The value of a metric line, 0 when it is not there."""
        text = (await self.http.get("/metrics")).text
        found = [row.rpartition(" ")[2] for row in text.splitlines() if row.startswith(line)]
        return float(found[0]) if found else 0.0


@pytest.fixture
async def gateway(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[..., Caller]]:
    """Makes gateways from a file's content and environment; closes them."""
    made: list[Caller] = []

    def make(
        content: dict[str, Any] | None = None,
        env: dict[str, str] | None = None,
        ledger: SpendingLedger | None = None,
        keys: dict[str, frozenset[str]] | None = None,
        client: tuple[str, int] = ("127.0.0.1", 1),
        grant_keys: list[Ed25519PublicKey] | None = None,
        **settings: Any,
    ) -> Caller:
        file = GatewayFile.model_validate(content or {})
        env = env or {}
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        chosen = choose_models(file, Settings(_env_file=None, **settings), env)
        built = Gateway(file, chosen, ledger=ledger, environment=env)
        access = Access([(Secret.fixed(key), agents) for key, agents in (keys or {}).items()])
        app = create_app(built, access, TaskGrants(grant_keys))
        transport = httpx.ASGITransport(app, client=client)
        caller = Caller(built, app, httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=120))
        made.append(caller)
        return caller

    yield make
    for caller in made:
        await caller.http.aclose()
        await caller.gateway.close()
