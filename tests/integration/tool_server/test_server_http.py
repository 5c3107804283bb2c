"""A server process over real HTTP: grants, fence, stop, health, metrics, start and end."""

import asyncio
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.auth import BearerAuth

STUDIO = Path(__file__).parents[3] / "deploy" / "sites" / "studio"


class Process:
    """`python -m quartet_nav2` and what one can ask it."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.ready = folder / "ready.json"
        self.ready.unlink(missing_ok=True)
        self.environment = os.environ | {"QUARTET_READY_FILE": str(self.ready)} | environment
        self.process = subprocess.Popen(
            [sys.executable, "-m", "quartet_nav2"], env=self.environment, stderr=subprocess.PIPE, text=True
        )
        self.url = ""

    def wait_ready(self) -> "Process":
        deadline = time.monotonic() + 30
        while not self.ready.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not come up: {self.end()}")
            time.sleep(0.02)
        self.url = json.loads(self.ready.read_text())["url"]
        return self

    def end(self, number: int = signal.SIGTERM) -> str:
        """End it; what it wrote to stderr."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=20)[1]

    def request(self, path: str, token: str | None = None, *, post: bool = True) -> tuple[int, dict[str, Any]]:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        request = urllib.request.Request(self.url + path, b"" if post else None, headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def client(self, token: str) -> Client:
        return Client(f"{self.url}/mcp", auth=BearerAuth(token))


def environment(url: str, folder: Path, keys) -> dict[str, str]:
    return {
        "QUARTET_ROBOT_FILE": str(STUDIO / "robot.yaml"),
        "QUARTET_SITE_FILE": str(STUDIO / "site.yaml"),
        "QUARTET_BRIDGE_URL": url,
        "QUARTET_STATE_DIR": str(folder / "state"),
        "QUARTET_GRANT_PUBLIC_KEY": keys.public_pem,
    }


@pytest.fixture(scope="module")
def keys(make_keys):
    return make_keys()


@pytest.fixture
def start(tmp_path, keys) -> Iterator[Callable[..., Process]]:
    """`start(url)`: a process of its own for a test that ends or restarts it."""
    running: list[Process] = []

    def make(url: str = "ws://127.0.0.1:9", **extra: str) -> Process:
        process = Process(tmp_path, environment(url, tmp_path, keys) | extra)
        running.append(process)
        return process

    yield make
    for process in running:
        if process.process.poll() is None:
            process.process.kill()
            process.process.communicate()


@pytest.fixture(scope="module")
def shared(studio_process, tmp_path_factory, keys) -> Iterator[Process]:
    """One process for the tests that only ask."""
    folder = tmp_path_factory.mktemp("server")
    process = Process(folder, environment(studio_process.url, folder, keys)).wait_ready()
    yield process
    assert "Traceback" not in process.end()


POSE = "nav2__get_robot_pose"
MOVE = "nav2__drive_on_heading"


async def call(process: Process, token: str, tool: str, **arguments: Any) -> dict[str, Any]:
    async with process.client(token) as client:
        return (await client.call_tool(tool, arguments, raise_on_error=False)).structured_content


async def test_a_granted_call_over_http(shared, keys, sim):
    result = await call(shared, keys.token(POSE), "get_robot_pose")
    assert result["ok"]
    assert result["area"] == "studio"


async def test_a_caller_sees_only_its_tools(shared, keys):
    async with shared.client(keys.token(POSE, "moveit__open_gripper")) as client:
        tools = await client.list_tools()
    assert [tool.name for tool in tools] == ["get_robot_pose"]
    assert "TRANSFORM_UNAVAILABLE" in tools[0].description
    assert tools[0].output_schema["properties"]["pose"]


async def test_a_tool_outside_of_the_grant_is_denied_and_nothing_moves(shared, keys, sim):
    before = sim.truth()["time"]
    result = await call(shared, keys.token(POSE), "drive_on_heading", distance=0.3)
    assert result["error_code"] == "DENIED"
    assert MOVE in result["message"]
    assert POSE in result["message"], "it says what the grant covers"
    result = await call(shared, keys.token(POSE), "fly")
    assert result["error_code"] == "DENIED"
    assert sim.truth()["time"] == before


@pytest.mark.parametrize(
    "fault",
    [
        "none",
        "nonsense",
        "other key",
        "audience",
        "expired",
        "issuer",
        "no expiry",
        "unsigned",
        "no fence",
        "tools as text",
    ],
)
async def test_a_bad_token_is_401(shared, keys, make_keys, fault):
    import jwt

    claims = jwt.decode(keys.token(POSE), options={"verify_signature": False})
    bad = {
        "none": None,
        "nonsense": "abc.def.ghi",
        "other key": make_keys().token(POSE),
        "audience": keys.token(POSE, robot="other"),
        "expired": keys.token(POSE, exp=int(time.time()) - 10),
        "issuer": keys.token(POSE, iss="somebody"),
        "no expiry": jwt.encode({k: v for k, v in claims.items() if k != "exp"}, keys.private, algorithm="EdDSA"),
        "unsigned": jwt.encode(claims, "", algorithm="none"),
        "no fence": jwt.encode({k: v for k, v in claims.items() if k != "fence"}, keys.private, algorithm="EdDSA"),
        "tools as text": keys.token(tools=POSE),
    }[fault]
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if bad is not None:
        headers["Authorization"] = f"Bearer {bad}"
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_robot_pose", "arguments": {}}}
    request = urllib.request.Request(shared.url + "/mcp", json.dumps(body).encode(), headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    with refused.value as answer:
        assert answer.code == 401
    assert shared.request("/control/fence", bad)[0] == 401
    assert shared.request("/control/stop", bad)[0] == 401


async def test_control_needs_its_scope(shared, keys):
    status, body = shared.request("/control/fence", keys.token(POSE, fence=99))
    assert status == 403
    assert "control__fence" in body["detail"]
    status, body = shared.request("/control/stop", keys.token("control__fence"))
    assert status == 403
    assert "control__stop" in body["detail"]


async def test_health_and_metrics(shared, keys, sim):
    assert shared.request("/health", post=False) == (200, {"status": "ok", "robot": "summit", "bridge": True})
    await call(shared, keys.token(POSE), "get_robot_pose")
    await call(shared, keys.token(POSE), "spin_robot", angle=1)
    with urllib.request.urlopen(shared.url + "/metrics", timeout=10) as answer:
        text = answer.read().decode()
    assert 'quartet_tool_calls_total{code="NONE",robot="summit",server="nav2",tool="get_robot_pose"}' in text
    assert 'quartet_tool_calls_total{code="DENIED",robot="summit",server="nav2",tool="spin_robot"}' in text
    assert 'quartet_bridge_connected{robot="summit",server="nav2"} 1.0' in text


async def test_a_fence_outlives_the_process_and_never_goes_down(start, sim, keys):
    server = start(sim.url).wait_ready()
    assert (await call(server, keys.token(POSE, fence=3), "get_robot_pose"))["ok"]
    assert server.request("/control/fence", keys.token("control__fence", fence=7)) == (
        200,
        {"fence": 7, "robot": "summit"},
    )
    stale = await call(server, keys.token(POSE, fence=6), "get_robot_pose")
    assert stale["error_code"] == "FENCED"
    assert "6" in stale["message"]
    assert "7" in stale["message"]
    status, body = server.request("/control/fence", keys.token("control__fence", fence=5))
    assert status == 409
    assert body["fence"] == 7
    server.process.kill()
    server.process.communicate()
    again = start(sim.url).wait_ready()
    assert (await call(again, keys.token(POSE, fence=6), "get_robot_pose"))["error_code"] == "FENCED"
    assert (await call(again, keys.token(POSE, fence=7), "get_robot_pose"))["ok"]
    again.end()


async def moving(sim, start: list[float], until) -> None:
    await until(lambda: math.dist(sim.truth()["robot"]["pose"], start) > 0.03)


async def standing(sim, until) -> list[float]:
    """The pose once the robot stands still, by ground truth."""
    await until(lambda: max(map(abs, sim.truth()["robot"]["twist"])) < 0.005)
    return sim.truth()["robot"]["pose"]


async def test_every_way_to_end_a_motion(start, realtime, keys, until):
    """A newer fence, /control/stop, a client that goes away, and the end of the process all stop the robot."""
    server = start(realtime.url).wait_ready()
    places: list[list[float]] = []

    async def drive(fence: int) -> "asyncio.Task[dict[str, Any]]":
        realtime.reset()
        places[:] = [realtime.truth()["robot"]["pose"]]
        call_ = asyncio.create_task(
            call(server, keys.token(MOVE, fence=fence), "drive_on_heading", distance=1.0, speed=0.1)
        )
        await moving(realtime, places[0], until)
        return call_

    motion = await drive(1)
    fence = await asyncio.to_thread(server.request, "/control/fence", keys.token("control__fence", fence=2))
    assert fence[0] == 200
    assert max(map(abs, realtime.truth()["robot"]["twist"])) < 0.02, "the older motion has ended before the answer"
    result = await motion
    assert result["error_code"] == "NAVIGATION_CANCELED"
    assert "newer attempt" in result["message"]

    motion = await drive(2)
    stopped = await asyncio.to_thread(server.request, "/control/stop", keys.token("control__stop", fence=0))
    assert stopped[0] == 200
    assert "drive_on_heading" in stopped[1]["canceled"]
    assert (await motion)["error_code"] == "NAVIGATION_CANCELED"

    motion = await drive(2)
    motion.cancel()
    with pytest.raises(asyncio.CancelledError):
        await motion
    assert math.dist(await standing(realtime, until), places[0]) < 0.5

    motion = await drive(2)
    log = await asyncio.to_thread(server.end)
    assert server.process.returncode == 0
    assert "Traceback" not in log
    assert math.dist(await standing(realtime, until), places[0]) < 0.5
    with pytest.raises(Exception):  # noqa: B017, PT011: whatever the HTTP client says of a server that is gone
        await motion


async def test_a_client_process_that_is_killed_stops_the_robot(start, realtime, keys, until):
    server = start(realtime.url).wait_ready()
    begin = realtime.truth()["robot"]["pose"]
    script = (
        "import asyncio, sys\nfrom fastmcp import Client\nfrom fastmcp.client.auth import BearerAuth\n"
        "async def main():\n    async with Client(sys.argv[1], auth=BearerAuth(sys.argv[2])) as c:\n"
        "        await c.call_tool('drive_on_heading', {'distance': 2.0, 'speed': 0.1})\nasyncio.run(main())"
    )
    client = subprocess.Popen([sys.executable, "-c", script, server.url + "/mcp", keys.token(MOVE)])
    try:
        await until(lambda: math.dist(realtime.truth()["robot"]["pose"], begin) > 0.03, 30)
    finally:
        client.kill()
        client.wait()
    assert math.dist(await standing(realtime, until), begin) < 0.5
    server.end()


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"QUARTET_GRANT_PUBLIC_KEY": ""}, ("QUARTET_GRANT_PUBLIC_KEY", "BEGIN PUBLIC KEY")),
        ({"QUARTET_GRANT_PUBLIC_KEY": "abc"}, ("QUARTET_GRANT_PUBLIC_KEY", "BEGIN PUBLIC KEY")),
        (
            {"QUARTET_GRANT_PUBLIC_KEY": "", "QUARTET_GRANT_PUBLIC_KEY_FILE": "/no/key.pem"},
            ("/no/key.pem", "cannot be read"),
        ),
        ({"QUARTET_ROBOT_FILE": "/no/robot.yaml"}, ("/no/robot.yaml", "cannot be read")),
        ({"QUARTET_PORT": "many"}, ("QUARTET_PORT", "many")),
        ({"QUARTET_BRIDGE_URL": "http://x"}, ("QUARTET_BRIDGE_URL", "http://x")),
        ({"QUARTET_PORT": "taken"}, ("cannot listen", "QUARTET_PORT")),
    ],
)
def test_a_process_that_cannot_start_says_what_to_change(start, extra, words):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        if extra == {"QUARTET_PORT": "taken"}:
            extra = {"QUARTET_PORT": str(taken.getsockname()[1])}
        server = start(**extra)
        text = server.process.communicate(timeout=30)[1]
    assert server.process.returncode == 2
    assert "Traceback" not in text
    for word in words:
        assert word in text


def test_an_unreadable_fence_is_not_guessed(start, tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "fence-nav2-summit.json").write_text("{")
    server = start()
    text = server.process.communicate(timeout=30)[1]
    assert server.process.returncode == 2
    assert "fence-nav2-summit.json" in text
    assert "Traceback" not in text


async def test_a_server_without_its_bridge_starts_and_says_so(start, keys):
    server = start().wait_ready()
    assert server.request("/health", post=False)[1]["bridge"] is False
    result = await call(server, keys.token(MOVE), "drive_on_heading", distance=0.3)
    assert result["error_code"] == "BRIDGE_UNAVAILABLE"
    server.end()
