"""What the simulation tells of itself at /metrics, to whom, and what it keeps to itself."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from typing import Any

import pytest

SPIN = ("/spin", "nav2_msgs/action/Spin")
TOKEN = "a-token-of-the-metrics"
AT_REST = {("latched", "true"), ("standstill", "true")}


def scrape(sim: Any, token: str = TOKEN) -> tuple[dict[str, float], str]:
    """Values by sample as it is written, and the whole text."""
    request = urllib.request.Request(sim.ready["metrics_url"], headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read().decode()
    samples = re.findall(r"^([a-z_]+(?:\{[^}]*\})?) ([-+0-9.e]+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in samples}, text


def values(state: Any) -> set[tuple[str, str]]:
    return {(one["key"], one["value"]) for one in state["values"]}


async def test_figures_of_a_robot_that_works_is_stopped_and_left_alone(
    start_sim: Any, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUARTET_METRICS_TOKEN", TOKEN)
    sim = start_sim("--faults", "first_goal_unavailable", "--heartbeat-timeout", "0.2")
    before, _ = scrape(sim)
    async with connect(sim.url) as robot:
        await robot.goal("missed", *SPIN, {"target_yaw": 0.1})
        await robot.result("missed")
        await robot.goal("done", *SPIN, {"target_yaw": 0.1})
        assert (await robot.result("done"))["status"] == 4
        await robot.once("/front_camera/color/camera_info")

        # A motion whose caller falls silent.
        await robot.send(op="subscribe", topic="/robot_guard/state")
        await robot.send(op="advertise", topic="/robot_guard/heartbeat", type="std_msgs/Header")
        await robot.send(op="publish", topic="/robot_guard/heartbeat", msg={"frame_id": "nav2:1"})
        while "lapsed" not in (await robot.message("/robot_guard/state"))["message"]:
            pass
        await robot.call("/robot_guard/stop")
        await robot.goal("late", *SPIN, {"target_yaw": 0.1})
        assert (await robot.result("late"))["result"] is False
        # World time goes on until then.
        while not AT_REST.issubset(values(await robot.message("/robot_guard/state"))):
            pass
        now, text = scrape(sim)

    assert now['quartet_simulation_goals_total{kind="Spin",outcome="succeeded"}'] == 1
    assert now['quartet_simulation_goals_total{kind="Spin",outcome="rejected"}'] == 1
    assert now['quartet_simulation_faults_total{kind="first_goal_unavailable"}'] == 1
    assert now["quartet_simulation_bridge_clients"] == 1
    frames = 'quartet_simulation_render_seconds_count{camera="front"}'
    assert now[frames] > before[frames]
    assert now['quartet_simulation_render_seconds_sum{camera="front"}'] > 0
    assert before['quartet_simulation_guard_latched{robot="1"}'] == 0
    assert now['quartet_simulation_guard_latched{robot="1"}'] == 1
    assert now['quartet_simulation_guard_stops_total{robot="1"}'] == 1
    assert now['quartet_simulation_guard_lapses_total{robot="1"}'] == 1
    assert now["quartet_simulation_world_time_seconds"] == pytest.approx(sim.get("/truth")["time"])
    assert now["quartet_simulation_world_seconds_total"] == pytest.approx(now["quartet_simulation_world_time_seconds"])
    assert now["quartet_simulation_step_seconds_total"] > 0
    assert now["process_resident_memory_bytes"] > 0
    things = sim.get("/truth")["objects"]
    assert things, "else the next line proves nothing"
    assert not [name for name in things if name in text], "no way round the sensors"

    sim.post("/reset", seed=1)
    anew, _ = scrape(sim)
    assert anew["quartet_simulation_world_time_seconds"] == 0
    assert anew["quartet_simulation_world_seconds_total"] >= now["quartet_simulation_world_seconds_total"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        scrape(sim, "another-token-altogether")
    assert refused.value.code == 401
    refused.value.close()


def test_the_ground_truth_is_for_this_machine_alone(start_sim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUARTET_METRICS_TOKEN", TOKEN)
    monkeypatch.setenv("QUARTET_GUARD_TOKEN", TOKEN)
    sim = start_sim("--host", "0.0.0.0")
    assert sim.ready["url"].startswith("ws://0.0.0.0:")
    assert sim.ready["scoring_url"].startswith("http://127.0.0.1:")
    assert sim.get("/truth")["time"] >= 0
    with open("/proc/net/tcp") as table:
        bound = {line.split()[1] for line in list(table)[1:]}
    assert f"0100007F:{sim.ready['scoring_port']:04X}" in bound
    assert f"00000000:{sim.ready['scoring_port']:04X}" not in bound
