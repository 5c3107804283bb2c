"""One deployment of docker-compose.yml with a project name, ports and image tag of its own."""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[2]
TAG = "test"
IMAGE_PREFIX = "quartet-"
BUILD_SETTINGS = ("QUARTET_BASE_IMAGE", "QUARTET_INDEX_URL", "QUARTET_CA_FILE")
"""What a machine behind a package index or a registry of its own needs; all other settings are the tests' own."""
BASE = os.environ.get("QUARTET_BASE_IMAGE") or "python:3.13-slim-trixie"
"""What the images are built on."""
START_S = 400.0
"""For everything to be healthy; a machine that builds at the same time is slow."""

AGENTS = ("approach", "pick", "place", "executor")
SERVERS = ("nav2", "moveit", "perception", "ros")
PROCESSES = (*AGENTS, *SERVERS, "orchestrator", "gateway", "stop", "simulation", "scripted-model")
"""What is built here and stays up."""
MAIN_JOB = "pick up the red coke can in the kitchen and place it on the wooden coffee table in the living room"


class CommandFailed(AssertionError):
    """A docker command ended with an error."""


def run(
    *argv: str, env: dict[str, str] | None = None, timeout_s: float = 900.0, check: bool = True, cwd: Path = ROOT
) -> str:
    """Standard output of a command. Raises CommandFailed with what it wrote."""
    done = subprocess.run(
        argv, cwd=cwd, env=env or dict(os.environ), capture_output=True, text=True, timeout=timeout_s, check=False
    )
    if check and done.returncode != 0:
        tail = "\n".join([*done.stdout.splitlines()[-20:], *done.stderr.splitlines()[-40:]])
        raise CommandFailed(f"{' '.join(argv)} ended with {done.returncode}:\n{tail}")
    return done.stdout


def inspect(*names: str, kind: str = "container") -> list[dict[str, Any]]:
    return json.loads(run("docker", "inspect", "--type", kind, *names))


def caller_environment() -> dict[str, str]:
    """The environment without the caller's settings, but for those of the build."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in BUILD_SETTINGS or not name.startswith(("QUARTET_", "COMPOSE_"))
    }


@dataclass
class Deployment:
    """`compose` with the right project; containers by service."""

    project: str
    settings: dict[str, str]
    files: Sequence[Path] = (ROOT / "docker-compose.yml",)
    took_s: dict[str, float] = field(default_factory=dict)
    """Wall time of what was measured."""

    @property
    def env(self) -> dict[str, str]:
        return {**caller_environment(), "QUARTET_TAG": TAG, "COMPOSE_PROFILES": "", **self.settings}

    def compose(self, *arguments: str, timeout_s: float = 900.0, check: bool = True) -> str:
        files = [part for file in self.files for part in ("-f", str(file))]
        command = ["docker", "compose", "--project-directory", str(ROOT), "--env-file", os.devnull, "-p", self.project]
        return run(*command, *files, *arguments, env=self.env, timeout_s=timeout_s, check=check)

    def up(self, *arguments: str) -> None:
        """Start what is not started, and wait until all of it is healthy."""
        self.compose("up", "--detach", "--wait", "--wait-timeout", str(round(START_S)), "--no-build", *arguments)

    def down(self) -> None:
        self.compose("--profile", "*", "down", "--volumes", "--timeout", "5", "--remove-orphans")

    def containers(self, service: str) -> list[str]:
        """Ids of its containers, ended ones too."""
        return self.compose("ps", "--all", "--quiet", service).split()

    def container(self, service: str) -> str:
        (only,) = self.containers(service)
        return only

    def facts(self, service: str) -> dict[str, Any]:
        """What `docker inspect` says of its only container."""
        (found,) = inspect(self.container(service))
        return found

    def execute(self, service: str, *argv: str) -> str:
        return run("docker", "exec", self.container(service), *argv)

    def wait_until_healthy(self, *services: str) -> None:
        """Raises AssertionError naming the first that is not in time, with its last lines."""
        deadline = time.monotonic() + START_S
        for service in services:
            while (state := self.facts(service)["State"])["Status"] != "running" or (
                "Health" in state and state["Health"]["Status"] != "healthy"
            ):
                if time.monotonic() > deadline:
                    raise AssertionError(f"{service} is {state['Status']}:\n{self.logs(service)}")
                time.sleep(0.2)

    def logs(self, service: str, lines: int = 20) -> str:
        return self.compose("logs", "--no-color", "--tail", str(lines), service, check=False)

    def secret(self, service: str, name: str) -> str:
        """The first value of a secret as `service` has it."""
        return self.execute(service, "cat", f"/secrets/{name}").split()[0]

    @contextmanager
    def api(self) -> Iterator[httpx.Client]:
        """The orchestrator's HTTP API at its published port."""
        headers = {"Authorization": f"Bearer {self.secret('orchestrator', 'api_token')}"}
        url = f"http://127.0.0.1:{self.settings['QUARTET_PAGE_PORT']}"
        with httpx.Client(base_url=url, headers=headers, timeout=60.0) as client:
            yield client

    def command(self, *arguments: str, check: bool = True) -> str:
        """What `quartet ARGUMENTS` prints in its container."""
        return self.compose("run", "--rm", "--no-TTY", "cli", *arguments, check=check)
