"""Clients that know nothing of this project: `quartet grant` prints a token, the MCP libraries do the rest."""

import contextlib
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import httpx2
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from typer.testing import CliRunner

from quartet_cli.main import app

STUDIO = Path(__file__).parents[3] / "deploy" / "sites" / "studio"
POSE, SPIN = "nav2__get_robot_pose", "nav2__spin_robot"
START_S = 60
FENCES = itertools.count(1)
"""One count for all tests: the fence of a server never goes down."""


class Caller(Protocol):
    async def names(self) -> set[str]: ...

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]: ...


class Plain:
    """The `mcp` package's own session."""

    def __init__(self, session: ClientSession) -> None:
        self._session = session

    async def names(self) -> set[str]:
        return {tool.name for tool in (await self._session.list_tools()).tools}

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return (await self._session.call_tool(tool, arguments)).structured_content


class Fast:
    """The client of fastmcp."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def names(self) -> set[str]:
        return {tool.name for tool in await self._client.list_tools()}

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return (await self._client.call_tool(tool, arguments, raise_on_error=False)).structured_content


def http(headers: dict[str, str] | None, statuses: list[int], **more: Any) -> httpx2.AsyncClient:
    """An HTTP client that notes what was answered."""

    async def note(response: httpx2.Response) -> None:
        statuses.append(response.status_code)

    more = {"timeout": 30, "trust_env": False} | more
    return httpx2.AsyncClient(headers=headers, event_hooks={"response": [note]}, **more)


@contextlib.asynccontextmanager
async def plain(url: str, headers: dict[str, str], statuses: list[int]) -> AsyncIterator[Caller]:
    async with (
        http(headers, statuses) as connection,
        streamable_http_client(url, http_client=connection) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield Plain(session)


@contextlib.asynccontextmanager
async def fast(url: str, headers: dict[str, str], statuses: list[int]) -> AsyncIterator[Caller]:
    def connection(headers: dict[str, str] | None = None, **more: Any) -> httpx2.AsyncClient:
        return http(headers, statuses, **more)

    async with Client(StreamableHttpTransport(url, headers=headers, httpx_client_factory=connection)) as client:
        yield Fast(client)


@pytest.fixture(scope="module")
def keys(make_keys):
    return make_keys()


@pytest.fixture(scope="module")
def url(studio_process, tmp_path_factory, keys) -> Iterator[str]:
    """The MCP endpoint of a nav2 server in a process of its own."""
    folder = tmp_path_factory.mktemp("server")
    ready = folder / "ready.json"
    environment = os.environ | {
        "QUARTET_ROBOT_FILE": str(STUDIO / "robot.yaml"),
        "QUARTET_SITE_FILE": str(STUDIO / "site.yaml"),
        "QUARTET_BRIDGE_URL": studio_process.url,
        "QUARTET_STATE_DIR": str(folder / "state"),
        "QUARTET_GRANT_PUBLIC_KEY": keys.public_pem,
        "QUARTET_READY_FILE": str(ready),
        "QUARTET_HEARTBEAT_TIMEOUT_S": "30",
    }
    process = subprocess.Popen([sys.executable, "-m", "quartet_nav2"], env=environment)
    try:
        deadline = time.monotonic() + START_S
        while not ready.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline, "the server did not come up"
            time.sleep(0.02)
        yield json.loads(ready.read_text())["url"] + "/mcp"
    finally:
        process.terminate()
        process.wait(START_S)


@pytest.fixture
def grant(tmp_path, keys) -> Callable[..., dict[str, str]]:
    """The headers with a token that the command printed; each has a newer fence than the one before."""

    def ask(*options: str, robot: str = "summit") -> dict[str, str]:
        key = tmp_path / "key.pem"
        key.write_bytes(keys.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        command = ["grant", *options, "--key", str(key), "--robot", robot, "--fence", str(next(FENCES))]
        printed = CliRunner().invoke(app, command, catch_exceptions=False)
        assert printed.exit_code == 0, printed.output
        return {"Authorization": f"Bearer {printed.stdout.strip()}"}

    return ask


CLIENTS = pytest.mark.parametrize("client", [plain, fast])


@CLIENTS
async def test_it_sees_asks_and_moves_what_its_grant_covers(sim, url, grant, client):
    async with client(url, grant(POSE, SPIN), []) as caller:
        assert await caller.names() == {"get_robot_pose", "spin_robot"}
        pose = await caller.call("get_robot_pose")
        assert pose["ok"]
        assert pose["area"] == "studio"
        before = sim.truth()["robot"]["pose"][2]
        turned = await caller.call("spin_robot", angle=0.5)
        assert turned["ok"], turned
        assert sim.truth()["robot"]["pose"][2] - before == pytest.approx(0.5, abs=0.15)
        refused = await caller.call("drive_on_heading", distance=0.3)
        assert refused["error_code"] == "DENIED"
        assert SPIN in refused["message"], "it says what the grant covers"


@CLIENTS
async def test_a_lower_fence_is_refused_by_name(sim, url, grant, client):
    older, newer = grant(SPIN), grant("nav2__cancel_navigation")
    async with client(url, newer, []) as caller:
        assert (await caller.call("cancel_navigation"))["ok"]
    async with client(url, older, []) as caller:
        before = sim.truth()["robot"]["pose"]
        refused = await caller.call("spin_robot", angle=0.5)
        assert refused["error_code"] == "FENCED"
        assert "older than" in refused["message"]
        assert sim.truth()["robot"]["pose"] == pytest.approx(before, abs=0.01)


@CLIENTS
@pytest.mark.parametrize("fault", ["expired", "other robot", "no token"])
async def test_a_token_that_is_not_valid_here_opens_no_session(url, grant, keys, client, fault):
    headers = {
        "expired": lambda: {"Authorization": f"Bearer {keys.token(POSE, exp=int(time.time()) - 60)}"},
        "other robot": lambda: grant(POSE, robot="another"),
        "no token": dict,
    }[fault]()
    statuses: list[int] = []
    with pytest.raises(Exception):  # noqa: B017, PT011  each library has its own way of saying it
        async with client(url, headers, statuses) as caller:
            await caller.call("get_robot_pose")
    assert statuses
    assert set(statuses) == {401}
