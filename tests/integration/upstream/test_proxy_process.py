"""A server process with a third-party server behind it: settings, control endpoints, metrics, start and end."""

import asyncio
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastmcp import Client
from fastmcp.client.auth import BearerAuth

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]

STUDIO = Path(__file__).parents[3] / "deploy" / "sites" / "studio"
GO, POSE = "nav2__navigate_to_pose", "nav2__get_robot_pose"
TOKEN = "rover-secret"
PATIENCE_S = 60
MAPPING = {
    "server": "nav2",
    "upstreams": {"rover": {"url": "http://127.0.0.1:9/mcp", "token_env": "ROVER_TOKEN"}},
    "stop": [{"tool": "halt"}],
    "tools": {
        "navigate_to_pose": {
            "tool": "go",
            "limit_s": 120,
            "arguments": {
                "x_cm": {"from": "x", "as": {"scaled": 100}},
                "y_cm": {"from": "y", "as": {"scaled": 100}},
                "heading": {"from": "yaw", "as": ["quaternion_of_yaw", "xyzw_object"]},
                "profile": {"constant": "gentle"},
            },
            "errors": [{"text": "err 40", "code": "NAVIGATION_CANCELED"}],
            "success": {"text": "^arrived"},
        },
        "get_robot_pose": {
            "tool": "where",
            "success": {"has": ["spot"]},
            "result": {"pose": {"fields": {"x": "spot.X", "y": "spot.Y", "yaw": "spot.deg"}}, "message": "$text"},
        },
    },
}


class Server:
    """`python -m quartet_nav2` and what one can ask it."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._log = folder / "log.txt"
        self._ready = folder / "ready.json"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "quartet_nav2"],
                env=os.environ | environment | {"QUARTET_READY_FILE": str(self._ready)},
                stderr=log,
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def url(self) -> str:
        return json.loads(self._ready.read_text())["url"]

    def ready(self) -> bool:
        assert self.process.poll() is None, self.log
        return self._ready.exists()

    def client(self, token: str) -> Client[Any]:
        return Client(f"{self.url}/mcp", auth=BearerAuth(token))

    async def ask(self, path: str, token: str | None = None) -> tuple[int, str]:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        request = urllib.request.Request(self.url + path, None if token is None else b"", headers)

        def send() -> tuple[int, str]:
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read().decode()

        return await asyncio.to_thread(send)


@pytest.fixture(scope="module")
def keys(make_keys):
    return make_keys()


@pytest.fixture
def environment(sim, tmp_path, keys) -> dict[str, str]:
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(yaml.safe_dump(MAPPING))
    return {
        "QUARTET_ROBOT_FILE": str(STUDIO / "robot.yaml"),
        "QUARTET_SITE_FILE": str(STUDIO / "site.yaml"),
        "QUARTET_BRIDGE_URL": sim.url,
        "QUARTET_STATE_DIR": str(tmp_path / "state"),
        "QUARTET_GRANT_PUBLIC_KEY": keys.public_pem,
        "QUARTET_HEARTBEAT_TIMEOUT_S": "30",
        "QUARTET_UPSTREAMS_FILE": str(mapping),
        "ROVER_TOKEN": TOKEN,
    }


@pytest.fixture
def start(tmp_path) -> Iterator[Any]:
    running: list[Server] = []

    def begin(environment: dict[str, str]) -> Server:
        running.append(Server(tmp_path, environment))
        return running[-1]

    yield begin
    for server in running:
        server.process.kill()
        server.process.wait()


async def test_the_life_of_a_server_with_an_upstream(environment, start, start_foreign, keys, eventually):
    rover = await start_foreign("foreign.py", "--token", TOKEN).wait_ready()
    server = start(environment | {"QUARTET_UPSTREAM_URLS": json.dumps({"rover": rover.url})})
    await eventually(server.ready, PATIENCE_S)
    assert "agents need tools that the mapping does not cover" in server.log
    assert "nav2__spin_robot (approach)" in server.log
    progress: list[Any] = []

    async def note(*report: Any) -> None:
        progress.append(report)

    async with server.client(keys.token(POSE, GO)) as client:
        assert {tool.name for tool in await client.list_tools()} == {"navigate_to_pose", "get_robot_pose"}
        arrived = await client.call_tool("navigate_to_pose", {"x": 1.0, "y": 0.0}, raise_on_error=False)
        assert arrived.structured_content["ok"], arrived
        outside = await client.call_tool("navigate_to_pose", {"x": 5.0, "y": 0.0}, raise_on_error=False)
        assert outside.structured_content["error_code"] == "OUTSIDE_GEOFENCE", "the site's policy holds"
        assert json.loads((await server.ask("/health"))[1])["upstreams"] == {"rover": True}
        waiting = {"x": 1.37, "y": 0.0}
        motion = asyncio.create_task(
            client.call_tool("navigate_to_pose", waiting, progress_handler=note, raise_on_error=False)
        )
        await eventually(lambda: progress, PATIENCE_S)
        status, body = await server.ask("/control/fence", keys.token("control__fence", fence=2))
        assert (status, json.loads(body)["fence"]) == (200, 2)
        ended = (await motion).structured_content
        assert ended["error_code"] in {"CANCELED", "NAVIGATION_CANCELED", "FENCED"}
    async with server.client(keys.token(POSE, GO, fence=2)) as client:
        progress.clear()
        motion = asyncio.create_task(
            client.call_tool("navigate_to_pose", waiting, progress_handler=note, raise_on_error=False)
        )
        await eventually(lambda: progress, PATIENCE_S)
        status, body = await server.ask("/control/stop", keys.token("control__stop", fence=0))
        assert status == 200
        assert "navigate_to_pose" in json.loads(body)["canceled"]
        await motion

        async def halted_twice() -> bool:
            seen = (await client.call_tool("get_robot_pose", {})).structured_content
            return json.loads(seen["message"])["halts"] >= 2

        await eventually(halted_twice, PATIENCE_S)  # at the fence and at the stop
    _, metrics = await server.ask("/metrics")
    assert 'quartet_tool_calls_total{code="NONE",robot="summit",server="nav2",tool="navigate_to_pose"} 1.0' in metrics
    assert TOKEN not in server.log
    server.process.terminate()
    assert await asyncio.to_thread(server.process.wait, PATIENCE_S) == 0
    assert "Traceback" not in server.log


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"QUARTET_UPSTREAMS_FILE": "/no/mapping.yaml"}, ("/no/mapping.yaml", "cannot be read")),
        ({"QUARTET_UPSTREAM_URLS": '{"other": "http://a"}'}, ("QUARTET_UPSTREAM_URLS", "other", "rover")),
        ({"QUARTET_UPSTREAM_URLS": '{"rover": "a"}'}, ("QUARTET_UPSTREAM_URLS",)),
    ],
)
async def test_a_process_that_cannot_start_says_what_to_change(environment, start, changes, words):
    server = start(environment | changes)
    assert await asyncio.to_thread(server.process.wait, PATIENCE_S) == 2
    assert server.log.startswith("nav2: ")
    assert "Traceback" not in server.log
    for word in words:
        assert word in server.log
