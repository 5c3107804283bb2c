"""One server process for several robots: each has a path, a fence, a stop and an audience of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil
import pytest
from fastmcp import Client
from fastmcp.client.auth import BearerAuth

import quartet_nav2
from quartet_contracts import FENCE_SCOPE, STOP_SCOPE
from quartet_tool_server import run

STUDIO = Path(__file__).parents[3] / "deploy" / "sites" / "studio"
NAMES = [f"summit{number}" for number in range(1, 11)]


def robots_of(folder: Path, names: list[str], bridge: str = "ws://127.0.0.1:9") -> str:
    text = (STUDIO / "robot.yaml").read_text()
    for name in names:
        (folder / f"{name}.yaml").write_text(text.replace("name: summit", f"name: {name}", 1))
    site = str(STUDIO / "site.yaml")
    return json.dumps(
        {name: {"robot_file": str(folder / f"{name}.yaml"), "site_file": site, "bridge_url": bridge} for name in names}
    )


class Hosted:
    """`python -m quartet_nav2` for ten robots."""

    def __init__(self, folder: Path, key: str) -> None:
        ready = folder / "ready.json"
        environment = {
            "QUARTET_READY_FILE": str(ready),
            "QUARTET_ROBOTS": robots_of(folder, NAMES),
            "QUARTET_STATE_DIR": str(folder / "state"),
            "QUARTET_GRANT_PUBLIC_KEY": key,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "quartet_nav2"], env=os.environ | environment, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 120
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                raise RuntimeError(self.process.communicate()[1])
            time.sleep(0.02)
        self.url = json.loads(ready.read_text())["url"]
        self.http = httpx.Client(base_url=self.url, timeout=60, trust_env=False)

    def post(self, path: str, token: str) -> httpx.Response:
        return self.http.post(path, headers={"Authorization": f"Bearer {token}"})

    def close(self) -> None:
        self.http.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)


@pytest.fixture(scope="module")
def keys(make_keys):
    return make_keys()


@pytest.fixture(scope="module")
def hosted(tmp_path_factory, keys):
    made = Hosted(tmp_path_factory.mktemp("hosted"), keys.public_pem)
    yield made
    made.close()


def test_each_robot_has_a_fence_of_its_own(hosted, keys):
    def install(robot, fence, of=None):
        token = keys.token(FENCE_SCOPE, robot=of or robot, fence=fence)
        return hosted.post(f"/{robot}/control/fence", token)

    assert install("summit1", 7).json() == {"fence": 7, "robot": "summit1"}
    assert install("summit2", 3).json() == {"fence": 3, "robot": "summit2"}
    assert install("summit1", 6).status_code == 409
    assert install("summit2", 8, of="summit1").status_code == 401
    assert install("summit2", 4).json()["fence"] == 4


async def test_a_grant_for_one_robot_opens_no_other(hosted, keys):
    token = keys.token("nav2__get_robot_pose", robot="summit3", fence=0)
    async with Client(f"{hosted.url}/summit3/mcp", auth=BearerAuth(token)) as client:
        assert [tool.name for tool in await client.list_tools()] == ["get_robot_pose"]
    refused = hosted.http.post("/summit4/mcp", headers={"Authorization": f"Bearer {token}"}, json={})
    assert refused.status_code == 401


def test_the_stop_of_one_holds_no_other(hosted, keys):
    stopped = hosted.http.post(
        "/summit5/control/stop",
        json={"latch": True},
        headers={"Authorization": f"Bearer {keys.token(STOP_SCOPE, robot='summit5')}"},
    )
    assert stopped.json()["latched"] is True
    held = {name: hosted.http.get(f"/{name}/health").json()["stopped"] for name in ("summit5", "summit6")}
    assert held == {"summit5": True, "summit6": False}


def test_health_and_metrics_are_of_all(hosted):
    assert sorted(hosted.http.get("/health").json()["robots"]) == sorted(NAMES)
    text = hosted.http.get("/metrics").text
    assert text.count("# TYPE quartet_fence gauge") == 1
    assert {f'quartet_fence{{robot="{name}",server="nav2"}}' in text for name in NAMES} == {True}


def test_ten_robots_cost_less_than_two_servers(hosted):
    assert psutil.Process(hosted.process.pid).memory_info().rss < 200e6


@pytest.mark.parametrize(
    ("robots", "words"),
    [
        ("{", "QUARTET_ROBOTS is JSON"),
        ('{"a b": {}}', "QUARTET_ROBOTS"),
        ('{"other": {"robot_file": "ROBOT", "site_file": "SITE"}}', "'other' has the robot file of 'summit'"),
        ("", "QUARTET_ROBOT_FILE: Field required; QUARTET_SITE_FILE: Field required"),
    ],
)
def test_what_cannot_be_hosted_is_told(tmp_path, keys, robots, words, monkeypatch, capsys):
    robots = robots.replace("ROBOT", str(STUDIO / "robot.yaml")).replace("SITE", str(STUDIO / "site.yaml"))
    for name, value in (
        ("ROBOTS", robots),
        ("GRANT_PUBLIC_KEY", keys.public_pem),
        ("STATE_DIR", str(tmp_path)),
    ):
        monkeypatch.setenv(f"QUARTET_{name}", value)
    with pytest.raises(SystemExit) as ended:
        run(quartet_nav2.SERVER)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err
