"""Jobs in containers: the main one, with an agent killed among three, and after a restart of every service."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from quartet_contracts import TERMINAL, PickCode

from .deployment import AGENTS, MAIN_JOB, PROCESSES, START_S, Deployment, inspect, run
from .documented import block, do

Event = dict[str, Any]
KILLED, TERMINATED = 128 + 9, 128 + 15


def submit(api: httpx.Client, sentence: str = MAIN_JOB) -> str:
    answer = api.post("/tasks", json={"sentence": sentence})
    assert answer.status_code == 202, answer.text
    return answer.json()["task"]["task_id"]


def events(api: httpx.Client, task_id: str) -> Iterator[Event]:
    """What its journal tells, until the task has ended."""
    with api.stream("GET", f"/tasks/{task_id}/events", timeout=httpx.Timeout(60, read=240)) as stream:
        stream.raise_for_status()
        for line in stream.iter_lines():
            if line.startswith("data:"):
                yield json.loads(line.removeprefix("data:"))["event"]


def fresh_world(deployment: Deployment) -> None:
    """Everything where it was at the start, and the robot ready to be given work."""
    run("docker", "restart", deployment.container("simulation"))
    deployment.wait_until_healthy("simulation")
    wait_until_ready(deployment)


def wait_until_ready(deployment: Deployment) -> None:
    """Until the robot is idle and every agent has a living replica."""
    deadline, told = time.monotonic() + START_S, "nothing"
    with deployment.api() as api:
        while time.monotonic() < deadline:
            try:
                health, robots = api.get("/health"), api.get("/robots")
            except httpx.TransportError as error:
                told = str(error)
            else:
                told = f"{health.text} {robots.text}"
                if health.status_code == robots.status_code == 200:
                    states = {row["state"] for row in robots.json()["robots"]}
                    if states == {"idle"} and all(health.json()["agents"].values()):
                        return
            time.sleep(0.2)
    raise AssertionError(f"the robot is not ready: {told}")


def test_the_main_job_is_done(deployment: Deployment, measured: dict[str, float]) -> None:
    fresh_world(deployment)
    began = time.monotonic()
    story = deployment.command("run", MAIN_JOB)
    measured["main job, from the command to its end [s]"] = time.monotonic() - began
    assert "Done after" in story
    assert "red coke can → wooden coffee table" in story


def test_stop_holds_until_the_reset(deployment: Deployment) -> None:
    deployment.command("stop")
    with deployment.api() as api:

        def states() -> set[str]:
            return {row["state"] for row in api.get("/robots").json()["robots"]}

        # What the orchestrator tells of a robot is up to a second old.
        eventually(states, lambda found: found == {"stopped"})
        run("docker", "restart", deployment.container("nav2"))
        deployment.wait_until_healthy("nav2")
        health = "import json,urllib.request as u; print(u.urlopen('http://127.0.0.1:8002/health').read().decode())"

        def nav2() -> dict[str, Any]:
            return json.loads(deployment.execute("nav2", "python", "-c", health))

        # It kept its latch, or hears from the guard, as soon as it is there again.
        eventually(nav2, lambda found: found["stopped"] is True)
        eventually(states, lambda found: found == {"stopped"})
        deployment.command("reset")
    wait_until_ready(deployment)


@pytest.fixture
def three_picks(deployment: Deployment) -> Iterator[dict[str, str]]:
    """Container id by host name, which is how replicas are called in the journal."""
    do(deployment, block("docs/deployment.md", "--scale pick=3"))
    yield {facts["Config"]["Hostname"]: facts["Id"] for facts in inspect(*deployment.containers("pick"))}
    deployment.up("--scale", "pick=1", "--no-recreate")


def test_one_of_three_agents_is_killed_in_the_middle_of_its_work(
    deployment: Deployment, three_picks: dict[str, str]
) -> None:
    assert len(three_picks) == 3
    fresh_world(deployment)
    killed, results = "", []
    with deployment.api() as api:
        task_id = submit(api)
        picking = ""
        for event in events(api, task_id):
            if event["kind"] == "skill_started" and event["skill"] == "pick":
                picking = event["replica"].rpartition("-")[0]
            if picking and not killed and event["kind"] == "tool_result" and event["tool"].endswith("open_gripper"):
                run("docker", "kill", "--signal", "KILL", three_picks[picking])
                killed = picking
            if event["kind"] == "skill_result" and event["skill"] == "pick":
                results.append(event["error_code"])
        status = api.get(f"/tasks/{task_id}").json()
    assert killed, "nobody was in the middle of a pick"
    assert results[0] != PickCode.NONE, "the killed agent's attempt has no good end"
    assert all(code in PickCode.__members__ for code in results), "each attempt ended with a code"
    assert status["state"] in TERMINAL
    assert status["state"] == "SUCCEEDED", status
    others = [facts["State"] for facts in inspect(*three_picks.values()) if facts["Config"]["Hostname"] != killed]
    assert [state["Status"] for state in others] == ["running", "running"]


@pytest.mark.parametrize("service", [*PROCESSES, "redis", "prometheus", "redis-exporter", "grafana"])
def test_it_ends_when_it_is_told_to_and_comes_back(deployment: Deployment, service: str) -> None:
    container = deployment.container(service)
    run("docker", "stop", container)
    (ended,) = inspect(container)
    code = ended["State"]["ExitCode"]
    assert code != KILLED, "it was still there when its grace time was over"
    if service in PROCESSES:
        # uvicorn raises the signal again as soon as it has served what it had.
        assert code in (0, TERMINATED)
    assert not ended["State"]["OOMKilled"]
    run("docker", "start", container)
    deployment.wait_until_healthy(service)


def test_after_all_restarts_the_job_is_done(deployment: Deployment) -> None:
    run("docker", "restart", *(deployment.container(service) for service in (*PROCESSES, "redis")))
    deployment.wait_until_healthy(*PROCESSES, "redis")
    wait_until_ready(deployment)
    assert "Done after" in deployment.command("run", MAIN_JOB)


def test_a_task_survives_the_restart_of_an_agent_that_works_on_it(deployment: Deployment) -> None:
    fresh_world(deployment)
    ended = False
    with deployment.api() as api:
        task_id = submit(api)
        for event in events(api, task_id):
            if not ended and event["kind"] == "skill_started" and event["skill"] == "approach":
                run("docker", "restart", deployment.container("approach"))
                ended = True
        status = api.get(f"/tasks/{task_id}").json()
    assert ended
    assert status["state"] == "SUCCEEDED", status


def test_each_process_tells_what_it_does(deployment: Deployment) -> None:
    """Prometheus reads all of them, with their token."""
    script = """
import json, urllib.request
told = json.load(urllib.request.urlopen("http://prometheus:9090/api/v1/targets?state=active"))
print(json.dumps({t["labels"]["job"]: [t["health"], t["lastError"]] for t in told["data"]["activeTargets"]}))
"""

    def targets() -> dict[str, list[str]]:
        return json.loads(deployment.execute("stop", "python", "-c", script))

    wanted = {*AGENTS, "orchestrator", "gateway", "nav2", "moveit", "perception", "ros", "stop", "redis"}
    found = eventually(targets, lambda now: all(now.get(job, [""])[0] == "up" for job in wanted))
    assert wanted <= found.keys()


def eventually(ask: Callable[[], Any], good: Callable[[Any], bool]) -> Any:
    deadline = time.monotonic() + START_S
    while not good(told := ask()):
        assert time.monotonic() < deadline, told
        time.sleep(0.5)
    return told
