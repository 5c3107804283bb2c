"""`quartet up --robot-dir`: a whole deployment at a robot that it did not start; here a simulation plays the robot."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quartet_deployment import Stack, StackOptions, StopClient, headless_gl

STUDIO = Path(__file__).resolve().parents[3] / "deploy" / "sites" / "studio"
pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("robot")
    (folder / "token").write_text("guard-of-the-lab-token")
    ready = folder / "ready.json"
    command = [sys.executable, "-m", "quartet_simulation", "--world", "studio", "--realtime"]
    ports = ["--port", "0", "--scoring-port", "0", "--guard-port", "0", "--ready-file", str(ready)]
    environment = {"PATH": "/usr/bin", "MUJOCO_GL": headless_gl(), "QUARTET_GUARD_TOKEN_FILE": str(folder / "token")}
    process = subprocess.Popen([*command, *ports], env=environment, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 180
    while not ready.exists():
        assert process.poll() is None, "the robot has died"
        assert time.monotonic() < end, "the robot did not come up within 180 s"
        time.sleep(0.05)
    yield {**json.loads(ready.read_text()), "token": folder / "token"}
    process.terminate()
    process.wait(60)


@pytest.fixture(scope="module")
def stack(robot: dict[str, Any], make_stack: Callable[..., Stack], tmp_path_factory: Any) -> Stack:
    lab = tmp_path_factory.mktemp("lab")
    shutil.copytree(STUDIO, lab, dirs_exist_ok=True)
    with (lab / "robot.yaml").open("a") as file:
        file.write(f"\nbridge: {{url: {robot['url']}}}\n")
    chosen = StackOptions(state_dir=lab).on_robot(lab, robot["guard_url"], robot["token"])
    return make_stack(site_dir=chosen.site_dir, guard_url=chosen.guard_url, guard_token_file=chosen.guard_token_file)


def test_every_server_is_connected_to_the_robot(stack: Stack, wait_for_robot: Callable[[Stack], None]) -> None:
    assert "simulation" not in stack.pids()
    wait_for_robot(stack)


def test_its_stop_reaches_the_robots_guard_and_every_server(stack: Stack) -> None:
    with StopClient(stack.url_of("stop"), stack.stop_token) as service:
        service.stop(stack.robot, "a person")
        state = service.wait_standstill([stack.robot], 60)[stack.robot]
        assert (state["stopped"], state["standstill"], state["guard"]["reason"]) == (True, True, "a person"), state
        assert set(state["servers"]) == {"nav2", "moveit", "perception", "ros"}
        assert set(state["servers"].values()) == {"stopped"}, state
        reset = service.reset(stack.robot)[stack.robot]
        assert (reset["latched"], reset["guard"]["latched"], reset["missed"]) == (False, False, [])
