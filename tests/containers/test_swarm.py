"""The same images under `docker stack deploy`, on an engine that is a swarm of one for as long."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from quartet_contracts import TERMINAL

from .conftest import free_ports
from .deployment import (
    AGENTS,
    IMAGE_PREFIX,
    MAIN_JOB,
    PROCESSES,
    SERVERS,
    START_S,
    TAG,
    caller_environment,
    inspect,
    run,
)

NAME = f"quartet-swarm-{os.getpid()}"
JOB_S = 400.0
OTHERS = ("redis", "redis-exporter", "prometheus", "grafana")


@dataclass
class Swarm:
    """The deployed stack; `folder` keeps its secrets."""

    folder: Path
    port: str

    def replicas(self) -> dict[str, str]:
        """Running and wanted, as `1/1`, by service."""
        rows = run("docker", "stack", "services", NAME, "--format", "{{.Name}} {{.Replicas}}").splitlines()
        return {name.removeprefix(f"{NAME}_"): count for name, count in (row.split()[:2] for row in rows)}

    def wait_for(self, **wanted: int) -> None:
        """Until each service has so many healthy replicas."""
        deadline = time.monotonic() + 2 * START_S
        while {name: f"{count}/{count}" for name, count in wanted.items()}.items() - self.replicas().items():
            assert time.monotonic() < deadline, run("docker", "stack", "ps", NAME, "--no-trunc", check=False)
            time.sleep(0.5)

    def containers(self, service: str) -> list[str]:
        return run("docker", "ps", "--quiet", "--filter", f"name={NAME}_{service}.").split()

    def execute(self, service: str, *argv: str, check: bool = True) -> str:
        return run("docker", "exec", self.containers(service)[0], *argv, check=check)

    def api(self) -> httpx.Client:
        token = (self.folder / "cli" / "api_token").read_text().split()[0]
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=60)


@pytest.fixture(scope="module")
def engine_in_swarm(images: None) -> Iterator[None]:
    state = run("docker", "info", "--format", "{{.Swarm.LocalNodeState}}").strip()
    if state != "inactive":
        reason = f"the engine is in a swarm of somebody else ({state})"
        if os.environ.get("QUARTET_TEST_ALL"):
            pytest.fail(f"the swarm tests must run here, and cannot: {reason}", pytrace=False)
        pytest.skip(reason)
    (port,) = free_ports(1)
    run("docker", "swarm", "init", "--advertise-addr", "127.0.0.1", "--listen-addr", f"127.0.0.1:{port}")
    yield
    run("docker", "swarm", "leave", "--force")


@pytest.fixture(scope="module")
def swarm(
    engine_in_swarm: None, tmp_path_factory: pytest.TempPathFactory, measured: dict[str, float]
) -> Iterator[Swarm]:
    folder = tmp_path_factory.mktemp("swarm")
    # The user's settings and provider keys are none of the tests' business.
    (folder / "own.yml").write_text("services: {gateway: {env_file: !reset []}}\n")
    names = ("QUARTET_PAGE_PORT", "QUARTET_STOP_PORT", "QUARTET_GRAFANA_PORT")
    ports = dict(zip(names, map(str, free_ports(len(names))), strict=True))
    files = {"COMPOSE_FILE": f"docker-compose.yml:{folder / 'own.yml'}", "COMPOSE_ENV_FILES": os.devnull}
    environment = {**caller_environment(), **ports, **files, "QUARTET_TAG": TAG}
    stack = folder / "stack.json"
    stack.write_text(run("scripts/swarm-stack", str(folder / "secrets"), env=environment))
    made = Swarm(folder / "secrets", ports["QUARTET_PAGE_PORT"])
    began = time.monotonic()
    run("docker", "stack", "deploy", "--detach=true", "--resolve-image", "never", "--compose-file", str(stack), NAME)
    try:
        made.wait_for(**dict.fromkeys((*PROCESSES, *OTHERS), 1))
        measured["stack deploy until healthy [s]"] = time.monotonic() - began
        yield made
    finally:
        run("docker", "stack", "rm", NAME, check=False)
        deadline = time.monotonic() + START_S
        while run("docker", "ps", "--quiet", "--filter", f"name={NAME}_") and time.monotonic() < deadline:
            time.sleep(0.5)
        volumes = run("docker", "volume", "ls", "--quiet", "--filter", f"name={NAME}_").split()
        run("docker", "volume", "rm", "--force", *volumes, check=False)


def test_the_main_job_is_done_in_a_swarm(swarm: Swarm) -> None:
    with swarm.api() as api:
        deadline = time.monotonic() + START_S
        while not all(api.get("/health").json().get("agents", {}).get(agent) for agent in AGENTS):
            assert time.monotonic() < deadline, api.get("/health").text
            time.sleep(0.5)
        answer = api.post("/tasks", json={"sentence": MAIN_JOB})
        assert answer.status_code == 202, answer.text
        task_id = answer.json()["task"]["task_id"]
        deadline = time.monotonic() + JOB_S
        while (status := api.get(f"/tasks/{task_id}").json())["state"] not in TERMINAL:
            assert time.monotonic() < deadline, status
            time.sleep(0.5)
    assert status["state"] == "SUCCEEDED", status


def test_an_agent_is_scaled(swarm: Swarm) -> None:
    run("docker", "service", "scale", "--detach", f"{NAME}_pick=3")
    swarm.wait_for(pick=3)
    with swarm.api() as api:
        deadline = time.monotonic() + START_S
        while api.get("/health").json()["agents"]["pick"] != 3:
            assert time.monotonic() < deadline, api.get("/health").text
            time.sleep(0.5)


def test_a_process_has_its_own_secrets_and_cannot_write(swarm: Swarm) -> None:
    for name in PROCESSES:
        process = name.replace("-", "_")
        held = set(swarm.execute(name, "ls", "/secrets").split())
        assert held == {file.name for file in (swarm.folder / process).iterdir()}, name
        (facts,) = inspect(swarm.containers(name)[0])
        assert facts["HostConfig"]["ReadonlyRootfs"], name
        assert facts["HostConfig"]["CapDrop"] == ["ALL"], name
        assert facts["HostConfig"]["Memory"] > 0, name
        assert facts["HostConfig"]["PidsLimit"] > 0, name
        assert facts["Config"]["Image"].startswith(f"{IMAGE_PREFIX}{name}:{TAG}"), name


def test_the_parts_are_kept_apart(swarm: Swarm) -> None:
    """By networks that are overlays; names that are not on one of them are not even known."""
    probe = "import socket,sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 5); print('reached')"

    def reaches(source: str, target: str, port: int) -> bool:
        return "reached" in swarm.execute(source, "python", "-c", probe, target, str(port), check=False)

    networks = json.loads(run("docker", "network", "inspect", f"{NAME}_robot"))
    assert (networks[0]["Driver"], networks[0]["Internal"]) == ("overlay", True)
    assert reaches("nav2", "simulation", 9090)
    assert reaches("pick", "redis", 6379)
    for agent in AGENTS:
        assert not reaches(agent, "simulation", 9090), agent
    for server in (*SERVERS, "stop"):
        assert not reaches(server, "redis", 6379), server
