"""Third-party MCP servers as processes of their own."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from quartet_tool_server.upstream import UpstreamMapping, load_mapping

HERE = Path(__file__).parent
DEPLOY = HERE.parents[2] / "deploy"
SHIPPED = DEPLOY / "upstreams"
STUDIO = DEPLOY / "sites" / "studio"
PATIENCE_S = 60


@dataclass
class Foreign:
    """A running third-party server."""

    process: subprocess.Popen[bytes]
    ready: Path
    urls: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Of its first server."""
        return next(iter(self.urls.values()))

    async def wait_ready(self) -> "Foreign":
        async with asyncio.timeout(PATIENCE_S):
            while not self.ready.exists():
                assert self.process.poll() is None, "it ended before it served"
                await asyncio.sleep(0.02)
        self.urls = json.loads(self.ready.read_text())
        return self

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


StartForeign = Callable[..., Foreign]


@pytest.fixture
def start_foreign(tmp_path: Path) -> Iterator[StartForeign]:
    """`start_foreign("foreign.py", ...)`: a server of this folder over HTTP."""
    yield from starting(tmp_path)


@pytest.fixture(scope="module")
def start_for_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartForeign]:
    """The same for the tests of a module together."""
    yield from starting(tmp_path_factory.mktemp("foreign"))


def starting(folder: Path) -> Iterator[StartForeign]:
    running: list[Foreign] = []

    def start(script: str, *arguments: str) -> Foreign:
        ready = folder / f"foreign-{len(running)}.json"
        command = [sys.executable, str(HERE / script), *arguments, "--ready-file", str(ready)]
        found = Foreign(subprocess.Popen(command), ready)
        running.append(found)
        return found

    yield start
    for one in running:
        one.process.send_signal(signal.SIGCONT)
        one.kill()


def published_command(folder: Path, bridge: str, *servers: str) -> tuple[str, ...]:
    return "published.py", *servers, "--bridge", bridge, "--site", str(STUDIO), "--state", str(folder / "state")


@pytest.fixture
def start_published(start_foreign: StartForeign, tmp_path: Path) -> Callable[..., Foreign]:
    """`start_published(bridge_url, "nav2")`: servers with the published surface, in a process of this test."""
    return lambda bridge, *servers: start_foreign(*published_command(tmp_path, bridge, *servers))


@pytest.fixture(scope="module")
def published_process(
    start_for_all: StartForeign, studio_process: Any, tmp_path_factory: pytest.TempPathFactory
) -> Foreign:
    folder = tmp_path_factory.mktemp("published")
    return start_for_all(*published_command(folder, studio_process.url, "nav2", "moveit", "ros"))


@pytest.fixture(scope="module")
def realtime_published_process(
    start_for_all: StartForeign, realtime_process: Any, tmp_path_factory: pytest.TempPathFactory
) -> Foreign:
    folder = tmp_path_factory.mktemp("published")
    return start_for_all(*published_command(folder, realtime_process.url, "nav2", "moveit", "ros"))


@pytest.fixture
async def realtime_published(realtime: Any, realtime_published_process: Foreign) -> dict[str, str]:
    """The same over the robot of `realtime`."""
    return (await realtime_published_process.wait_ready()).urls


@pytest.fixture
async def published(sim: Any, published_process: Foreign) -> dict[str, str]:
    """URLs of servers with the published surface over the robot of `sim`, in one process for all tests."""
    return (await published_process.wait_ready()).urls


@pytest.fixture
def make_mapping(tmp_path: Path) -> Callable[..., UpstreamMapping]:
    """`make_mapping("nav2", {"nav2": url})`: the shipped mapping, or one given as a dictionary."""

    def make(mapping: str | dict[str, Any], urls: dict[str, str] | None = None) -> UpstreamMapping:
        path = SHIPPED / f"{mapping}.yaml"
        if not isinstance(mapping, str):
            path = tmp_path / "mapping.yaml"
            path.write_text(yaml.safe_dump(mapping))
        return load_mapping(path).with_urls(urls or {})

    return make
