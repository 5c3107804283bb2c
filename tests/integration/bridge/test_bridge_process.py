"""The process: start, bad input, ports, end, and what it costs to do nothing."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import psutil
import pytest


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "quartet_simulation", *options],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("option", ["--port", "--scoring-port"])
def test_a_taken_port_is_named(option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        options = {"--port": "0", "--scoring-port": "0"} | {option: port}
        done = run("--world", "studio", *[word for pair in options.items() for word in pair])
    assert done.returncode == 2
    assert port in done.stderr
    assert option in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--world", "castle"), ("castle", "home", "studio")),
        (("--seed", "-1"), ("seed", "-1")),
        (("--port", "70000"), ("port", "70000")),
        (("--faults", "gremlin"), ("gremlin", "zombie")),
        (("--seed", "two"), ("--seed", "two")),
    ],
)
def test_bad_options_are_named(options: tuple[str, ...], named: tuple[str, ...]) -> None:
    done = run("--port", "0", *options) if "--port" not in options else run(*options)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for word in named:
        assert word in done.stderr


def test_ready_line_and_file_and_clean_end(start_sim: Any, tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    sim = start_sim("--ready-file", str(ready), "--seed", "3")
    assert json.loads(ready.read_text()) == sim.ready
    assert (sim.ready["world"], sim.ready["seed"]) == ("studio", 3)
    assert sim.close() == 0
    assert "Traceback" not in sim.log


async def test_a_standing_world_costs_nothing(start_sim: Any, connect: Any) -> None:
    sim = start_sim()
    async with connect(sim.url) as robot:
        for topic in ("/tf", "/clock", "/joint_states", "/gripper/status"):
            await robot.send(op="subscribe", topic=topic)
            await robot.message(topic)
        process = psutil.Process(sim.process.pid)
        before = sum(process.cpu_times()[:2])
        began = time.monotonic()
        while time.monotonic() - began < 1.5:
            await robot.message("/clock")
        assert sum(process.cpu_times()[:2]) - before < 0.75, "less than half of the time"
        assert process.memory_info().rss < 500e6


def test_scoring_interface(sim: Any) -> None:
    truth = sim.get("/truth")
    assert truth["time"] >= 0
    again = sim.post("/reset", seed=0)
    assert sim.post("/reset", seed=0) == again
    assert sim.post("/reset", seed=5) != again
    for path, body, named in (
        ("/reset", {"world": "castle"}, "castle"),
        ("/reset", {"sead": 1}, "sead"),
        ("/place", {"object": "unicorn", "x": 0, "y": 0, "z": 1}, "unicorn"),
        ("/faults", {"kinds": ["gremlin"]}, "gremlin"),
    ):
        with pytest.raises(urllib.error.HTTPError) as error:
            sim.post(path, **body)
        assert error.value.code == 400
        assert named in error.value.read().decode()
        error.value.close()
    with pytest.raises(urllib.error.HTTPError) as error:
        sim.get("/nothing")
    assert error.value.code == 404
    error.value.close()

    with urllib.request.urlopen(sim.ready["scoring_url"] + "/overhead.jpg", timeout=60) as answer:
        assert answer.read(2) == b"\xff\xd8"


async def test_a_reset_aborts_what_runs_and_starts_time_anew(sim: Any, robot: Any) -> None:
    await robot.goal("g", "/spin", "nav2_msgs/action/Spin", {"target_yaw": 100_000.0}, feedback=True)
    await robot.op("action_feedback")
    await robot.call("/robot_guard/stop")
    assert (await robot.result("g"))["status"] == 5
    await asyncio.to_thread(sim.reset_guard)
    await robot.goal("h", "/spin", "nav2_msgs/action/Spin", {"target_yaw": 100_000.0}, feedback=True)
    await robot.op("action_feedback", id="h")
    await asyncio.to_thread(sim.post, "/reset", seed=0)
    result = await robot.result("h")
    assert (result["status"], result["values"]["error_msg"]) == (6, "the world was reset")
    health = sim.get("/health")
    assert health["time"] < 1.0
    assert health["guard"] == {"latched": False, "reason": "running", "standstill": None}
