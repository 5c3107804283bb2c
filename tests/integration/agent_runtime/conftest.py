"""A programmable model that speaks OpenAI over HTTP, and real MCP servers with tools that behave badly."""

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastmcp import Context, FastMCP
from fastmcp.tools import ToolResult
from mcp_types import ImageContent, TextContent, ToolAnnotations
from pydantic import BaseModel

from quartet_agent_runtime import GatewayClient, Loop, Recorder, ReportTool, Tools, WorkClock, skill_report
from quartet_contracts import KEEPALIVE_HEADER, Budget, JournalEvent, Skill, encode
from support.http_server import serve_app

Answer = dict[str, Any]
Reply = Callable[[Answer], Answer | Awaitable[Answer]]


def says(text: str | None = None, **fields: Any) -> Answer:
    """An assistant message without a tool call."""
    return {"message": {"role": "assistant", "content": text, **fields}}


def calls(*wanted: tuple[str, Any], text: str | None = None) -> Answer:
    """An assistant message with tool calls; arguments that are no string are written as JSON."""
    tool_calls = [
        {
            "id": f"c{index}",
            "type": "function",
            "function": {"name": name, "arguments": args if isinstance(args, str) else json.dumps(args)},
        }
        for index, (name, args) in enumerate(wanted)
    ]
    return {"message": {"role": "assistant", "content": text, "tool_calls": tool_calls}}


def report(success: bool = True, code: str = "NONE", reason: str = "done", **fields: Any) -> Answer:
    """The pick agent's report."""
    return calls(("report_pick_result", {"success": success, "error_code": code, "reason": reason, **fields}))


@dataclass
class ModelServer:
    """Answers each request with the next reply of `script`; the last one is repeated."""

    script: list[Answer | Reply] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    takes_images: bool = False
    keepalive: str = ""
    """What the server tells of its keepalives, if anything."""
    greetings: int = 0
    """Requests for its health."""
    deaf: int = 0
    """So many of these are not answered: it takes the connection and says nothing."""
    restarting: int = 0
    """So many more of these end with a connection that breaks."""
    url: str = ""
    open: set[asyncio.StreamWriter] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while line := await reader.readline():
                headers: dict[str, str] = {}
                while header := (await reader.readline()).strip():
                    name, _, value = header.decode().partition(":")
                    headers[name.lower()] = value.strip()
                if line.startswith(b"GET /health "):
                    self.greetings += 1
                    if self.restarting:
                        self.restarting -= 1
                        break
                    if self.greetings > self.deaf:
                        await self.send(200, b"{}", writer)
                    continue
                body = json.loads(await reader.readexactly(int(headers["content-length"])))
                assert line.startswith(b"POST /v1/chat/completions")
                self.requests.append(body)
                self.headers.append(headers)
                await self.answer(body, writer)
        writer.close()
        self.open.discard(writer)

    async def close(self) -> None:
        for writer in self.open:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def answer(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        reply = self.script[min(len(self.requests), len(self.script)) - 1]
        if callable(reply):
            made = reply(body)
            reply = await made if isinstance(made, Awaitable) else made
        status = reply.get("status", 200)
        if reply.get("drop"):
            writer.close()
            return
        answer = reply.get("body") or {
            "choices": [{"index": 0, "finish_reason": reply.get("finish_reason", "stop"), "message": reply["message"]}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
            "quartet": {"model": "test/model", "cost_usd": 0.01, "takes_images": self.takes_images},
        }
        await self.send(status, (answer if isinstance(answer, str) else json.dumps(answer)).encode(), writer)

    async def send(self, status: int, data: bytes, writer: asyncio.StreamWriter) -> None:
        told = f"{KEEPALIVE_HEADER}: {self.keepalive}\r\n" if self.keepalive else ""
        head = f"HTTP/1.1 {status} X\r\n{told}Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        await writer.drain()

    def last(self) -> list[dict[str, Any]]:
        """The messages of the newest request."""
        return self.requests[-1]["messages"]

    def result(self) -> dict[str, Any]:
        """The newest tool result that the model was given."""
        return json.loads([m for m in self.last() if m["role"] == "tool"][-1]["content"])


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    server = ModelServer()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield server
    listening.close()
    await server.close()


class Memory:
    """Journal, images and transcripts in lists; `order` also notes when the tools really ran."""

    def __init__(self) -> None:
        self.events: list[JournalEvent] = []
        self.order: list[str] = []
        self.appends: list[list[str]] = []
        """Kinds of the events that were appended together."""
        self.pictures: dict[str, bytes] = {}
        self.transcripts: dict[str, dict[str, Any]] = {}
        self.saves = 0

    async def append(self, *events: JournalEvent) -> None:
        for event in events:
            # As the bus does, which refuses what is too large.
            encode(event)
        self.events += events
        kinds = [event.event.kind for event in events]
        self.order += kinds
        self.appends.append(kinds)

    async def put(self, task_id: str, data: bytes, media_type: str) -> str:
        self.pictures[f"image-{len(self.pictures)}"] = data
        return f"image-{len(self.pictures) - 1}"

    async def save(self, task_id: str, loop_id: str, transcript: dict[str, Any]) -> None:
        self.saves += 1
        self.transcripts[loop_id] = transcript

    def kinds(self) -> list[str]:
        return [event.event.kind for event in self.events]


@pytest.fixture
def memory() -> Memory:
    return Memory()


LoopFactory = Callable[..., Loop]


@pytest.fixture
async def make_loop(model: ModelServer, memory: Memory) -> AsyncIterator[LoopFactory]:
    """Loops of a pick agent against the test model."""
    client = GatewayClient(model.url, "pick", key="secret-key")

    def make(
        tools: Tools,
        *,
        budget: Budget | None = None,
        clock: WorkClock | None = None,
        ends_with: ReportTool | None = None,
        **more: Any,
    ) -> Loop:
        recorder = Recorder(
            actor="pick", task_id="t1", loop_id="r1", request_id="r1",
            journal=memory, images=memory, transcripts=memory,
        )  # fmt: skip
        return Loop(
            model=client.for_task("t1", "r1", lambda: "the-grant"),
            tools=tools,
            report=ends_with or skill_report(Skill.PICK),
            recorder=recorder,
            budget=budget or Budget(),
            clock=clock or WorkClock(60, 60),
            **more,
        )

    yield make
    await client.close()


class Sum(BaseModel):
    ok: bool = True
    error_code: str = "NONE"
    message: str = ""
    total: float = 0.0


@dataclass
class ToolHost:
    """What the tools of the test server saw."""

    url: str = ""
    listed: int = 0
    kept_s: int = 300
    """How long it lets its list of tools be kept [s]."""
    called: list[str] = field(default_factory=list)
    canceled: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    clients: list[tuple[str, int]] = field(default_factory=list)
    """Address of the client of each request: one per connection."""
    bridge_back_at: float | None = 0.0
    """When the robot's bridge is back, on the monotonic clock [s]; None: never."""
    keepalive: str = ""
    """What the server tells of its keepalives, if anything."""


def build_server(host: ToolHost) -> FastMCP:
    server: FastMCP = FastMCP("arm", cache_ttl=host.kept_s)

    @server.tool
    async def add(a: float, b: float = 1.0) -> Sum:
        """Adds two numbers."""
        host.called.append("add")
        return Sum(total=a + b)

    @server.tool
    async def slow(seconds: float, ctx: Context) -> Sum:
        """Takes a while and reports progress."""
        host.called.append("slow")
        try:
            for step in range(max(1, int(seconds / 0.05))):
                await asyncio.sleep(0.05)
                await ctx.report_progress(step, seconds / 0.05, f"step {step}")
        except asyncio.CancelledError:
            host.canceled.append("slow")
            raise
        return Sum(total=seconds)

    @server.tool
    async def long_thought(seconds: float) -> Sum:
        """Takes a while and reports nothing."""
        host.called.append("long_thought")
        await asyncio.sleep(seconds)
        return Sum(total=seconds)

    @server.tool
    async def fails() -> Sum:
        """Fails in an expected way."""
        return Sum(ok=False, error_code="PLANNING_FAILED", message="no way there")

    @server.tool
    async def refuses(code: str) -> Sum:
        """Refuses with a code."""
        return Sum(ok=False, error_code=code, message="not now")

    async def over_bridge(name: str) -> Sum:
        host.called.append(name)
        if host.bridge_back_at is not None and time.monotonic() >= host.bridge_back_at:
            return Sum()
        return Sum(ok=False, error_code="BRIDGE_UNAVAILABLE", message="no connection to the robot's rosbridge")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def read_over_bridge() -> Sum:
        """Reads from the robot."""
        return await over_bridge("read")

    @server.tool
    async def move_over_bridge() -> Sum:
        """Moves the robot."""
        return await over_bridge("move")

    @server.tool
    async def breaks() -> Sum:
        """Raises."""
        raise RuntimeError("the arm fell off")

    @server.tool
    async def long_text() -> Sum:
        """Talks too much."""
        return Sum(message="x" * 50_000)

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def picture() -> ToolResult:
        """Returns an image."""
        return ToolResult(
            content=[
                TextContent(type="text", text="a picture"),
                ImageContent(type="image", data="anBlZw==", mime_type="image/jpeg"),
            ],
            structured_content={"ok": True, "error_code": "NONE", "message": "a picture"},
        )

    @server.tool
    async def stop_execution() -> Sum:
        """Stands still."""
        host.called.append("stop_execution")
        return Sum()

    @server.tool
    async def hidden() -> Sum:
        """Not for this agent."""
        host.called.append("hidden")
        return Sum()

    return server


class _Watch:
    """Counts listings, keeps the bearer tokens and who asked."""

    def __init__(self, app: Any, host: ToolHost) -> None:
        self._app = app
        self._host = host

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {key.decode(): value.decode() for key, value in scope["headers"]}
            self._host.clients.append(tuple(scope["client"]))
            self._host.tokens.append(headers.get("authorization", ""))
            self._host.listed += headers.get("mcp-method") == "tools/list"

        async def telling(message: Any) -> None:
            if message["type"] == "http.response.start" and self._host.keepalive:
                message["headers"] = [*message["headers"], (KEEPALIVE_HEADER.encode(), self._host.keepalive.encode())]
            await send(message)

        await self._app(scope, receive, telling)


@pytest.fixture
async def host() -> AsyncIterator[ToolHost]:
    """A real MCP server over streamable HTTP in this event loop."""
    state = ToolHost()
    app = build_server(state).http_app(path="/mcp")
    async with serve_app(_Watch(app, state), force=True) as url:
        state.url = f"{url}/mcp"
        yield state


_DYING = """
import os, sys, asyncio
from fastmcp import FastMCP
server = FastMCP("arm")
@server.tool
async def dies() -> str:
    "Ends the whole process."
    os._exit(3)
@server.tool
async def hangs() -> str:
    "Never answers."
    await asyncio.Event().wait()
    return ""
@server.tool
async def works() -> str:
    "Works."
    return "fine"
server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False, log_level="error")
"""


class MortalServer:
    """An MCP server in a process of its own, which can be started again on the same port."""

    def __init__(self, folder: Path, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/mcp"
        self._port = port
        self._script = folder / "mortal.py"
        self._script.write_text(_DYING)
        self.process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        self.process = await asyncio.to_thread(subprocess.Popen, [sys.executable, str(self._script), str(self._port)])
        while self.process.poll() is None:
            with contextlib.suppress(ConnectionError):
                _, writer = await asyncio.open_connection("127.0.0.1", self._port)
                writer.close()
                await writer.wait_closed()
                return
            await asyncio.sleep(0.05)
        raise RuntimeError(f"the server ended with status {self.process.returncode}")

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
async def mortal(tmp_path: Path, free_port: int) -> AsyncIterator[MortalServer]:
    server = MortalServer(tmp_path, free_port)
    await server.start()
    yield server
    server.stop()


@pytest.fixture
def talk() -> SimpleNamespace:
    """Ways to write a model's answer."""
    return SimpleNamespace(says=says, calls=calls, report=report)


async def no_progress(_fraction: float | None, _message: str) -> None:
    return None


@pytest.fixture
def progress() -> Any:
    return no_progress
