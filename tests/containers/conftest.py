"""An engine, images built once, and one deployment that the tests of this folder share.

`make test-containers` runs them; `make test` does not. Without an engine they are skipped with the reason, which is a
failure where QUARTET_TEST_ALL is set.
"""

import os
import shlex
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from .deployment import BASE, ROOT, TAG, CommandFailed, Deployment, inspect, run

NO_ENGINE = 3
"""Exit status of scripts/container-engine."""
MEASURED: dict[str, float] = {}
"""For the summary: what was measured, by name."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Building the images comes before the first test, and takes minutes; the swarm comes last.

    An engine that leaves a swarm forgets the names of all containers that it runs, those of the shared deployment too.
    """
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in here:
        item.add_marker(pytest.mark.timeout(1500))
    last = [item for item in here if item.path.name == "test_swarm.py"]
    items[:] = [item for item in items if item not in last] + last


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if MEASURED:
        terminalreporter.section("measured in containers")
        for name, value in MEASURED.items():
            terminalreporter.write_line(f"{name:50} {value:8.1f}")


@pytest.fixture(scope="session")
def measured() -> dict[str, float]:
    return MEASURED


@pytest.fixture(scope="session")
def engine() -> Iterator[None]:
    """A Docker engine, reached by what is put into the environment."""
    found = subprocess.run(["scripts/container-engine", "up"], cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode == NO_ENGINE:
        reason = (found.stderr.strip().splitlines() or ["no reason given"])[-1]
        if os.environ.get("QUARTET_TEST_ALL"):
            pytest.fail(f"the container tests must run here, and cannot: {reason}", pytrace=False)
        pytest.skip(reason)
    assert found.returncode == 0, found.stderr
    patch = pytest.MonkeyPatch()
    for line in found.stdout.splitlines():
        name, _, value = line.removeprefix("export ").partition("=")
        patch.setenv(name, os.path.expandvars(shlex.split(value)[0]))
    yield
    patch.undo()


@pytest.fixture(scope="session")
def images(engine: None) -> None:
    """All of Quartet's images, tagged `test`, and the one below them by its name, which BuildKit keeps to itself."""
    began = time.monotonic()
    deployment = Deployment("quartet-test-build", {})
    deployment.compose("--profile", "*", "build", "--quiet", timeout_s=1400)
    MEASURED["build of all images [s]"] = time.monotonic() - began
    try:
        inspect(BASE, kind="image")
    except CommandFailed:
        run("docker", "pull", "--quiet", BASE)


@pytest.fixture(scope="session")
def deployment(images: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """docker-compose.yml as it comes, but for ports that are free here."""
    with deployed(f"quartet-test-{os.getpid()}", tmp_path_factory.mktemp("compose")) as started:
        MEASURED["up --wait from built images [s]"] = started.took_s["up"]
        yield started


class deployed:
    """`docker compose up --wait`, and everything removed at the end. On a failure the logs of all are shown."""

    def __init__(self, project: str, folder: Path, *overlays: Path, **settings: str) -> None:
        own = folder / "own.yml"
        # The user's provider keys are none of the tests' business.
        own.write_text("services: {gateway: {env_file: !reset []}}\n")
        names = ("QUARTET_PAGE_PORT", "QUARTET_STOP_PORT", "QUARTET_GRAFANA_PORT")
        ports = dict(zip(names, map(str, free_ports(len(names))), strict=True))
        files = (ROOT / "docker-compose.yml", own, *overlays)
        self._deployment = Deployment(project, {**ports, **settings}, files)

    def __enter__(self) -> Deployment:
        with ExitStack() as undo:
            undo.callback(self._deployment.down)
            began = time.monotonic()
            try:
                self._deployment.up()
            except AssertionError as error:
                logs = self._deployment.compose("logs", "--no-color", "--tail", "15", check=False)
                raise AssertionError(f"{error}\n{logs}") from None
            self._deployment.took_s["up"] = time.monotonic() - began
            undo.pop_all()
        return self._deployment

    def __exit__(self, *_: object) -> None:
        self._deployment.down()


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def image_of(name: str) -> str:
    return f"quartet-{name}:{TAG}"


__all__ = ["deployed", "image_of", "run"]
