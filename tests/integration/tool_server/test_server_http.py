"""A server process over real HTTP: grants, fence, stop, health, metrics, start and end."""

import asyncio
import json
import math
import os
import re
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

import httpx
import jwt
import pytest
from fastmcp import Client
from fastmcp.client.auth import BearerAuth

import quartet_nav2
from quartet_contracts import OUT_OF_TIME
from quartet_tool_server import run

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
        deadline = time.monotonic() + 120
        while not self.ready.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not come up: {self.end()}")
            time.sleep(0.02)
        self.url = json.loads(self.ready.read_text())["url"]
        return self

    def end(self, number: int = signal.SIGTERM) -> str:
        """End it; what it wrote to stderr."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=60)[1]

    def request(self, path: str, token: str | None = None, *, post: bool = True) -> tuple[int, dict[str, Any]]:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        request = urllib.request.Request(self.url + path, b"" if post else None, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def text(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return answer.read().decode()

    def client(self, token: str, mode: str = "auto") -> Client:
        return Client(f"{self.url}/mcp", auth=BearerAuth(token), mode=mode)


def environment(url: str, folder: Path, keys) -> dict[str, str]:
    return {
        "QUARTET_ROBOT_FILE": str(STUDIO / "robot.yaml"),
        "QUARTET_SITE_FILE": str(STUDIO / "site.yaml"),
        "QUARTET_BRIDGE_URL": url,
        "QUARTET_STATE_DIR": str(folder / "state"),
        "QUARTET_GRANT_PUBLIC_KEY": keys.public_pem,
        "QUARTET_HEARTBEAT_TIMEOUT_S": "20",
    }


@pytest.fixture(scope="module")
def keys(make_keys):
    return make_keys()


class Fences:
    """Of the shared process, whose fence only grows: tests come in any order."""

    newest = 1

    def next(self) -> int:
        self.newest += 1
        return self.newest


@pytest.fixture(scope="module")
def fences() -> Fences:
    return Fences()


LATE_NOTIFICATION = re.compile(
    r"mcp/server/streamable_http\.py\", line \d+, in _handle_post_request\s.*"
    r"(anyio\.(Closed|Broken)ResourceError|RuntimeError: Unexpected ASGI message 'http\.response\.start' sent, after)",
    re.DOTALL,
)
"""The library fails to pass the notification on, then to answer with an error what it had answered already."""


def faults(log: str) -> list[str]:
    """The exceptions that a server logged.

    Without those of the MCP library when a notification of a client comes just as its session is closed: the library
    has answered the client by then, and nothing of ours is concerned.
    """
    blocks = log.split("Traceback (most recent call last):")[1:]
    return [block for block in blocks if not LATE_NOTIFICATION.search(block)]


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
def shared(realtime_process, tmp_path_factory, keys) -> Iterator[Process]:
    """One process for the tests that only ask."""
    folder = tmp_path_factory.mktemp("server")
    more = {"QUARTET_ALLOWED_HOSTS": '["Robot.example.org"]'}
    process = Process(folder, environment(realtime_process.url, folder, keys) | more).wait_ready()
    yield process
    assert faults(process.end()) == []


POSE = "nav2__get_robot_pose"
MOVE = "nav2__drive_on_heading"


async def call(process: Process, token: str, tool: str, mode: str = "auto", **arguments: Any) -> dict[str, Any]:
    async with process.client(token, mode) as client:
        return (await client.call_tool(tool, arguments, raise_on_error=False)).structured_content


async def test_a_granted_call_over_http(shared, keys, fences, realtime):
    result = await call(shared, keys.token(POSE, fence=fences.newest), "get_robot_pose")
    assert result["ok"], result
    assert result["area"] == "studio"


async def test_a_caller_sees_only_its_tools(shared, keys):
    async with shared.client(keys.token(POSE, "moveit__open_gripper")) as client:
        tools = await client.list_tools()
    assert [tool.name for tool in tools] == ["get_robot_pose"]
    assert "TRANSFORM_UNAVAILABLE" in tools[0].description
    assert tools[0].output_schema["properties"]["pose"]


async def test_a_tool_outside_of_the_grant_is_denied_and_nothing_moves(shared, keys, fences, realtime):
    before, token = realtime.truth()["robot"]["pose"], keys.token(POSE, fence=fences.newest)
    result = await call(shared, token, "drive_on_heading", distance=0.3)
    assert result["error_code"] == "DENIED"
    assert MOVE in result["message"]
    assert POSE in result["message"], "it says what the grant covers"
    result = await call(shared, token, "fly")
    assert result["error_code"] == "DENIED"
    assert math.dist(realtime.truth()["robot"]["pose"], before) < 0.01


@pytest.mark.parametrize(
    "fault",
    [
        "none",
        "nonsense",
        "key",
        "audience",
        "expired",
        "issuer",
        "no expiry",
        "unsigned",
        "no fence",
        "tools as text",
    ],
)
def test_a_bad_token_is_401(shared, keys, make_keys, fault):
    claims = jwt.decode(keys.token(POSE), options={"verify_signature": False})
    bad = {
        "none": None,
        "nonsense": "abc.def.ghi",
        "key": make_keys().token(POSE),
        "audience": keys.token(POSE, robot="other"),
        "expired": keys.token(POSE, exp=int(time.time()) - 10),
        "issuer": keys.token(POSE, iss="somebody"),
        "no expiry": keys.sign({k: v for k, v in claims.items() if k != "exp"}),
        "unsigned": jwt.encode(claims, "", algorithm="none"),
        "no fence": keys.sign({k: v for k, v in claims.items() if k != "fence"}),
        "tools as text": keys.token(tools=POSE),
    }[fault]
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if bad is not None:
        headers["Authorization"] = f"Bearer {bad}"
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_robot_pose", "arguments": {}}}
    request = urllib.request.Request(shared.url + "/mcp", json.dumps(body).encode(), headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=60)
    with refused.value as answer:
        assert answer.code == 401
    status, said = shared.request("/control/fence", bad)
    assert status == 401
    assert (said.get("code") == OUT_OF_TIME) == (fault == "expired")
    assert shared.request("/control/stop", bad)[0] == 401


OWN_NAMES = ["127.0.0.1", "localhost", "[::1]", "192.168.1.20", "nav2", "NAV2", "robot.example.org"]
"""A host may be an address, a name without a dot, or one of QUARTET_ALLOWED_HOSTS."""
FOREIGN = [
    {"Host": "evil.example"},
    {"Host": "evil.example:8002"},
    {"Host": "127.0.0.1.evil.example"},
    {"Host": "nav2@evil.example"},
    {"Host": ""},
    {"Origin": "https://evil.example"},
    {"Origin": "http://127.0.0.1:8002"},
    {"Origin": "null"},
]
"""What a browser sends for a page of another site, or of a site whose name leads to this machine (DNS rebinding)."""


def status_of(url: str, path: str, token: str, headers: dict[str, str]) -> int:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"} if path == "/mcp" else {}
    given = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Mcp-Method": "tools/list",
    }
    with httpx.Client(trust_env=False, timeout=60) as client:
        return client.post(url + path, json=body, headers={**given, **headers}).status_code


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_a_request_that_a_web_page_may_have_sent_is_403_also_with_a_grant(shared, keys, fences, headers):
    for path, tool in (("/mcp", POSE), ("/control/fence", "control__fence"), ("/control/beat", POSE)):
        token = keys.token(tool, fence=fences.newest)
        assert status_of(shared.url, path, token, headers) == 403
        assert status_of(shared.url, path, token, {}) != 403
    assert status_of(shared.url, "/control/stop", keys.token("control__stop", fence=0), headers) == 200, (
        "never hindered"
    )


@pytest.mark.parametrize("name", OWN_NAMES)
def test_a_server_is_called_by_addresses_and_names_of_its_network(shared, keys, fences, name):
    token = keys.token("control__fence", fence=fences.newest)
    assert status_of(shared.url, "/control/fence", token, {"Host": name}) == 200
    assert status_of(shared.url, "/control/fence", token, {"Host": f"{name}:8002"}) == 200


async def test_many_requests_with_one_id_in_one_session_are_all_answered(shared, keys, fences, realtime):
    """mcp has one stream for each id: all but one of them waited for ever."""
    headers = {
        "Authorization": f"Bearer {keys.token(POSE, fence=fences.newest)}",
        "Accept": "application/json, text/event-stream",
        "Mcp-Protocol-Version": "2025-11-25",
    }
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "many", "version": "1"}}
    many = httpx.Limits(max_connections=200)
    async with httpx.AsyncClient(trust_env=False, timeout=60, limits=many, headers=headers) as http:

        async def post(**body: Any) -> httpx.Response:
            return await http.post(f"{shared.url}/mcp", json={"jsonrpc": "2.0"} | body)

        hello = await post(id=0, method="initialize", params=client)
        http.headers["Mcp-Session-Id"] = hello.headers["mcp-session-id"]
        await post(method="notifications/initialized")
        pose = {"name": "get_robot_pose", "arguments": {}}
        async with asyncio.timeout(60):
            asked = [post(id=7 if n % 2 else "7", method="tools/call", params=pose) for n in range(200)]
            answers = await asyncio.gather(*asked)
        refused = [answer.json() for answer in answers if answer.status_code == 400]
        served = [answer for answer in answers if answer.status_code == 200]
        assert len(served) + len(refused) == len(answers)
        assert all('"ok":true' in answer.text.replace(" ", "") for answer in served)
        assert all("id 7 is running" in said["error"]["message"] and str(said["id"]) == "7" for said in refused)
        assert served
        assert refused
        assert (await post(id=7, method="tools/call", params=pose)).status_code == 200, "once it is free"


async def test_control_needs_its_scope(shared, keys):
    status, body = shared.request("/control/fence", keys.token(POSE, fence=99))
    assert status == 403
    assert "control__fence" in body["detail"]
    status, body = shared.request("/control/stop", keys.token("control__fence"))
    assert status == 403
    assert "control__stop" in body["detail"]


async def test_health_and_metrics(shared, keys, fences, realtime):
    assert shared.request("/control/fence", keys.token("control__fence", fence=fences.newest))[0] == 200
    before = time.time()
    status, health = shared.request("/health", post=False)
    assert before <= health.pop("time") <= time.time()
    assert {"get_robot_pose", "drive_on_heading"} < set(health.pop("tools"))
    assert (status, health) == (
        200,
        {"status": "ok", "robot": "summit", "bridge": True, "stopped": False, "stops": 0, "fence": fences.newest},
    )
    token = keys.token(POSE, fence=fences.newest)
    await call(shared, token, "get_robot_pose")
    await call(shared, token, "spin_robot", angle=1)
    text = await asyncio.to_thread(shared.text, "/metrics")
    assert 'quartet_tool_calls_total{code="NONE",robot="summit",server="nav2",tool="get_robot_pose"}' in text
    assert 'quartet_tool_calls_total{code="DENIED",robot="summit",server="nav2",tool="spin_robot"}' in text
    assert 'quartet_bridge_connected{robot="summit",server="nav2"} 1.0' in text


async def moving(sim, start: list[float], until) -> None:
    await until(lambda: math.dist(sim.truth()["robot"]["pose"], start) > 0.03)


async def standing(sim, until) -> list[float]:
    """The pose once the robot stands still, by ground truth."""
    await until(lambda: max(map(abs, sim.truth()["robot"]["twist"])) < 0.005)
    return sim.truth()["robot"]["pose"]


@pytest.fixture
def drive(realtime, keys, until):
    """`await drive(server, fence)`: a call that moves the robot, and where it started."""

    async def begin(
        server: Process, fence: int, mode: str = "auto"
    ) -> "tuple[asyncio.Task[dict[str, Any]], list[float]]":
        place = realtime.truth()["robot"]["pose"]
        token = keys.token(MOVE, fence=fence)
        task = asyncio.create_task(call(server, token, "drive_on_heading", mode, distance=1.0, speed=0.1))
        await moving(realtime, place, until)
        return task, place

    return begin


async def test_a_newer_fence_ends_the_motion_of_an_older_grant(shared, realtime, keys, fences, drive):
    motion, _ = await drive(shared, fences.newest)
    newer = fences.next()
    status, body = await asyncio.to_thread(shared.request, "/control/fence", keys.token("control__fence", fence=newer))
    assert (status, body["fence"]) == (200, newer)
    assert max(map(abs, realtime.truth()["robot"]["twist"])) < 0.02, "it has ended before the answer"
    result = await motion
    assert result["error_code"] == "NAVIGATION_CANCELED"
    assert "newer attempt" in result["message"]


async def test_control_stop_ends_every_motion_whatever_its_fence(shared, keys, fences, drive):
    motion, _ = await drive(shared, fences.next())
    status, body = await asyncio.to_thread(shared.request, "/control/stop", keys.token("control__stop", fence=0))
    assert status == 200
    assert "drive_on_heading" in body["canceled"]
    result = await motion
    assert result["error_code"] == "NAVIGATION_CANCELED"
    assert "stopped by" in result["message"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_that_goes_away_stops_the_robot(shared, realtime, fences, drive, until, mode):
    motion, place = await drive(shared, fences.newest, mode)
    motion.cancel()
    with pytest.raises(asyncio.CancelledError):
        await motion
    assert math.dist(await standing(realtime, until), place) < 0.5


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_process_that_is_killed_stops_the_robot(shared, realtime, keys, fences, until, mode):
    begin = realtime.truth()["robot"]["pose"]
    script = (
        "import asyncio, sys\nfrom fastmcp import Client\nfrom fastmcp.client.auth import BearerAuth\n"
        "async def main():\n    async with Client(sys.argv[1], auth=BearerAuth(sys.argv[2]), mode=sys.argv[3]) as c:\n"
        "        await c.call_tool('drive_on_heading', {'distance': 2.0, 'speed': 0.1})\nasyncio.run(main())"
    )
    token = keys.token(MOVE, fence=fences.newest)
    client = await asyncio.create_subprocess_exec(sys.executable, "-c", script, shared.url + "/mcp", token, mode)
    try:
        await moving(realtime, begin, until)
    finally:
        client.kill()
        await client.wait()
    assert math.dist(await standing(realtime, until), begin) < 0.6


async def test_fence_and_end_of_a_process(start, realtime, keys, drive, until):
    """A fence is installed also without a bridge, outlives a killed process and never goes down; a server that has
    started anew moves nothing before one is installed; a process that is told to end stops its motion first."""
    server = start().wait_ready()
    assert server.request("/health", post=False)[1]["bridge"] is False
    result = await call(server, keys.token(MOVE, fence=3), "drive_on_heading", distance=0.3)
    assert result["error_code"] == "BRIDGE_UNAVAILABLE"
    assert server.request("/control/fence", keys.token("control__fence", fence=7))[1]["fence"] == 7
    server.process.kill()
    server.process.communicate()

    server = start(realtime.url).wait_ready()
    stale = await call(server, keys.token(POSE, fence=6), "get_robot_pose")
    assert stale["error_code"] == "FENCED"
    assert "6" in stale["message"]
    assert "7" in stale["message"]
    status, body = server.request("/control/fence", keys.token("control__fence", fence=5))
    assert status == 409
    assert body["fence"] == 7
    assert (await call(server, keys.token(POSE, fence=7), "get_robot_pose"))["ok"]

    motion = await call(server, keys.token(MOVE, fence=7), "drive_on_heading", distance=1.0)
    assert motion["error_code"] == "FENCED", "what was let in before the restart moves nothing after it"
    assert "started anew" in motion["message"]
    assert "--fence 8" in motion["message"]
    assert server.request("/control/fence", keys.token("control__fence", fence=7))[0] == 200

    motion, place = await drive(server, 7)
    log = await asyncio.to_thread(server.end)
    assert server.process.returncode == 0
    assert faults(log) == []
    assert math.dist(await standing(realtime, until), place) < 0.5
    await asyncio.wait([motion], timeout=60)
    assert motion.done()
    motion.exception()


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"GRANT_PUBLIC_KEY": ""}, ("QUARTET_GRANT_PUBLIC_KEY", "BEGIN PUBLIC KEY")),
        ({"GRANT_PUBLIC_KEY": "abc"}, ("QUARTET_GRANT_PUBLIC_KEY", "BEGIN PUBLIC KEY")),
        ({"GRANT_PUBLIC_KEY": "", "GRANT_PUBLIC_KEY_FILE": "/no/key.pem"}, ("/no/key.pem", "cannot be read")),
        ({"ROBOT_FILE": "/no/robot.yaml"}, ("/no/robot.yaml", "cannot be read")),
        ({"ROBOT_FILE": ""}, ("QUARTET_ROBOT_FILE", "required")),
        ({"PORT": "many"}, ("QUARTET_PORT", "many")),
        ({"BRIDGE_URL": "http://x"}, ("QUARTET_BRIDGE_URL", "http://x")),
        ({"PORT": "taken"}, ("cannot be used", "QUARTET_PORT")),
    ],
)
def test_a_process_that_cannot_start_says_what_to_change(monkeypatch, capsys, tmp_path, keys, extra, words):
    for name, value in environment("ws://127.0.0.1:9", tmp_path, keys).items():
        monkeypatch.setenv(name, value)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for name, value in extra.items():
            monkeypatch.setenv(f"QUARTET_{name}", value if value != "taken" else str(taken.getsockname()[1]))
        refuse_to_start()
    text = capsys.readouterr().err
    assert text.startswith("nav2: ")
    for word in words:
        assert word in text


def refuse_to_start() -> None:
    with pytest.raises(SystemExit) as end:
        run(quartet_nav2.SERVER)
    assert end.value.code == 2


def test_an_unreadable_fence_is_not_guessed(monkeypatch, capsys, tmp_path, keys):
    for name, value in environment("ws://127.0.0.1:9", tmp_path, keys).items():
        monkeypatch.setenv(name, value)
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "fence-nav2-summit.json").write_text("{")
    refuse_to_start()
    assert "fence-nav2-summit.json" in capsys.readouterr().err
