"""Processes that start before Redis does wait for it and say so; what they may not do ends them at once."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from quartet_bus import Bus, BusRefusedError
from quartet_bus.access import AGENTS, ORCHESTRATOR, acl_file, digest
from quartet_deployment import free_ports, hold_ports

STUDIO = Path(__file__).parents[3] / "deploy" / "sites" / "studio"


class Started:
    """A process with a port of its own; its log is in a file."""

    def __init__(self, module: str, folder: Path, redis_url: str, **more: str) -> None:
        (port,) = free_ports(1)
        # Nobody else is given it in the seconds until the process has it.
        self._held = hold_ports([port])
        self.url, self.log_file, self.ready = f"http://127.0.0.1:{port}", folder / f"{module}.log", folder / module
        clean = {name: value for name, value in os.environ.items() if not name.startswith("QUARTET_")}
        key = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        environment = {
            "QUARTET_PORT": str(port),
            "QUARTET_READY_FILE": str(self.ready),
            "QUARTET_REDIS_URL": redis_url,
            "QUARTET_ROBOT_FILE": str(STUDIO / "robot.yaml"),
            "QUARTET_SITE_FILE": str(STUDIO / "site.yaml"),
            "QUARTET_SERVERS": '{"summit": {"nav2": "http://127.0.0.1:9/mcp", "moveit": "http://127.0.0.1:9/mcp"}}',
            "QUARTET_ALLOW_ANONYMOUS": "true",
            "QUARTET_GRANT_PRIVATE_KEY": key,
            "QUARTET_LOG_FORMAT": "text",
        }
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module], env={**clean, **environment, **more}, stdout=log, stderr=log
            )

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    def health(self) -> tuple[int, dict[str, Any]]:
        """Status 0: nobody listens yet."""
        assert self.process.poll() is None, self.log
        try:
            answer = httpx.get(f"{self.url}/health", timeout=30, trust_env=False)
        except httpx.TransportError:
            return 0, {}
        return answer.status_code, answer.json()

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._held.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    running: list[Started] = []

    def run(module: str, redis_url: str, **more: str) -> Started:
        running.append(Started(module, tmp_path, redis_url, **more))
        return running[-1]

    yield run
    for one in running:
        one.close()


@pytest.fixture
def guarded(make_redis: Any, tmp_path: Path) -> Any:
    """A Redis with users, none of whom has the password that is tried."""
    users = tmp_path / "users.acl"
    users.write_text(acl_file({role: [digest("another-password")] for role in (ORCHESTRATOR, *AGENTS)}))
    return make_redis(users=users)


MODULES = ("quartet_pick", "quartet_orchestrator")


@pytest.mark.long
async def test_who_starts_before_redis_waits_and_works_when_it_comes(
    own_redis: Any, start: Any, eventually: Any
) -> None:
    own_redis.kill()
    early = [start(module, own_redis.url) for module in MODULES]
    impatient = start("quartet_place", own_redis.url)
    await eventually(lambda: all(one.log.count("again in") >= 3 for one in early), 120)
    for one in early:
        status, told = await asyncio.to_thread(one.health)
        assert status == 503
        assert "does not answer" in told["problem"]
        assert own_redis.url in told["problem"]
        assert not one.ready.exists(), "it is not ready"
        pauses = [float(pause) for pause in re.findall(r"again in ([0-9.]+) s", one.log)]
        assert pauses == sorted(pauses)
        assert pauses[2] > pauses[0], "each wait is longer"
    await eventually(lambda: "again in" in impatient.log, 60)
    assert impatient.end() == 0, impatient.log

    own_redis.start()
    for one in early:
        await eventually(lambda one=one: one.health()[0] == 200 and one.ready.exists(), 60)
        assert json.loads(one.ready.read_text()) == {"url": one.url}
        assert "Redis answers after" in one.log
        assert one.end() == 0, one.log


def test_a_wrong_password_ends_it_at_once_with_what_to_set(guarded: Any, start: Any) -> None:
    tried = [start(module, guarded.url, QUARTET_REDIS_PASSWORD="a-password-of-nobody") for module in MODULES]
    for refused in tried:
        assert refused.process.wait(60) == 2
        assert "does not know this user or its password" in refused.log
        assert "QUARTET_REDIS_PASSWORD" in refused.log
        assert "again in" not in refused.log
        assert "a-password-of-nobody" not in refused.log
        assert "Traceback" not in refused.log


async def test_without_a_name_nobody_waits(guarded: Any) -> None:
    with pytest.raises(BusRefusedError):
        await Bus.wait_for(guarded.url)
