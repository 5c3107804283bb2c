"""A stop service over scripted guards and servers, which hang, refuse or forget as a test wants."""

import asyncio
import contextlib
import json
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from quartet_process import Secret
from quartet_stop import create_app
from quartet_stop.app import Access
from quartet_stop.metrics import Metrics
from quartet_stop.robot import RobotStop, make_robot
from quartet_stop.signer import StopSigner

TOKEN = "a-token-for-the-person"
BUTTON = "a-token-that-may-only-stop"


def _pem(key: Ed25519PrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@dataclass
class Target:
    """A guard or a server over real HTTP; `received` has (method, path, body, bearer token)."""

    latched: bool = False
    reason: str = ""
    standstill: bool | None = None
    hung: asyncio.Event | None = None
    """While it is set to an event, requests wait for it, as at a process that is frozen."""
    status: int = 200
    endless: bool = False
    """Whether an answer has no end."""
    received: list[tuple[str, str, Any, str]] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def orders(self, path: str) -> list[Any]:
        return [body for _, asked, body, _ in self.received if asked == path]

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._server = None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while True:
                    await self._answer(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        body = json.loads(raw) if raw else None
        if self.hung is not None:
            await self.hung.wait()
        self.received.append((method, path, body, headers.get("authorization", "").removeprefix("Bearer ")))
        if self.status == 200:
            self._act(path, body)
        if self.endless:
            writer.write(b"HTTP/1.1 200 X\r\n\r\n")
            while True:
                writer.write(b" " * 65536)
                await writer.drain()
        answer = json.dumps({"latched": self.latched, "reason": self.reason, "standstill": self.standstill}).encode()
        writer.write(f"HTTP/1.1 {self.status} X\r\nContent-Length: {len(answer)}\r\n\r\n".encode() + answer)
        await writer.drain()

    def _act(self, path: str, body: Any) -> None:
        if path.endswith("/stop"):
            self.latched, self.reason = True, body["reason"]
        elif path.endswith("/reset"):
            self.latched, self.reason, self.standstill = False, "", None


@dataclass
class Service:
    """The stop service, and what it reaches."""

    guard: Target
    servers: dict[str, Target]
    robot: RobotStop
    client: httpx2.AsyncClient
    key: Ed25519PrivateKey

    async def ask(
        self, method: str, path: str, body: Any = None, token: str | None = TOKEN, more: dict[str, str] | None = None
    ) -> httpx2.Response:
        headers = {**(more or {}), **({} if token is None else {"Authorization": f"Bearer {token}"})}
        return await self.client.request(method, path, json=body, headers=headers)

    async def state(self) -> dict[str, Any]:
        return (await self.ask("GET", "/state")).json()["robots"]["summit"]


@pytest.fixture
async def targets() -> AsyncIterator[tuple[Target, dict[str, Target]]]:
    guard, servers = Target(), {"nav2": Target(), "moveit": Target()}
    for target in (guard, *servers.values()):
        await target.start()
    yield guard, servers
    for target in (guard, *servers.values()):
        await target.stop()


@pytest.fixture
async def start(
    targets: tuple[Target, dict[str, Target]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], Any]:
    """`async with start() as service`: one life of the service; the next finds what it has left."""
    monkeypatch.setattr("quartet_stop.robot.LOOK_EVERY_S", 0.05)
    monkeypatch.setattr("quartet_stop.robot.GUARD_S", 30.0)  # however busy this machine is
    guard, servers = targets
    key = Ed25519PrivateKey.generate()

    @contextlib.asynccontextmanager
    async def life() -> AsyncIterator[Service]:
        metrics, signer = Metrics(), StopSigner(Secret.fixed(_pem(key)))
        robot = make_robot(
            "summit",
            guard.url,
            {name: f"{target.url}/mcp" for name, target in servers.items()},
            guard_token=lambda: "token-of-the-guard",
            sign=signer.token,
            state_dir=tmp_path,
            metrics=metrics,
        )
        app = create_app({"summit": robot}, Access(Secret.fixed(TOKEN), Secret.fixed(BUTTON)), metrics)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://stop", timeout=30) as client,
        ):
            yield Service(guard, servers, robot, client, key)

    return life


@pytest.fixture
def until_process() -> Callable[..., None]:
    """`until_process(condition, process)`: wait for something that a process does, as long as it lives."""

    def wait(condition: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
        end = time.monotonic() + 60
        while not condition():
            assert process.poll() is None, "the process has ended"
            assert time.monotonic() < end, "not within 60 s"
            time.sleep(0.02)

    return wait
