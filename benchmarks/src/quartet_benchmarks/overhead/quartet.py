"""Quartet's own side: gateway, Redis, an agent process, and requests to it over the bus."""

import asyncio
import json
import threading
import time
import uuid
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from quartet_benchmarks.environments import CLIENTS, environment
from quartet_benchmarks.fleet.redis_process import RedisProcess
from quartet_benchmarks.overhead.processes import OwnProcess, Run
from quartet_bus import Bus, Replies
from quartet_contracts import MODEL_TOOLS, ApproachArguments, Budget, NextAction, Skill, SkillRequest
from quartet_deployment import project_root, sign_grant

T = TypeVar("T")
ROBOT = "robot"
KEY = "key-of-the-benchmark-" + "0" * 20
DEADLINE_S = 120.0
GRANT_S = 3600


@dataclass(frozen=True)
class Backend:
    """What Quartet's clients stand on."""

    gateway: OwnProcess
    redis: RedisProcess
    durable: RedisProcess
    """Redis that writes each change to disk before it answers."""
    key: str
    """Private key of the grants (PEM)."""

    def grant(self, task_id: str) -> str:
        """Return the grant of a task."""
        tools = MODEL_TOOLS[Skill.APPROACH]
        return sign_grant(self.key, ROBOT, tools, name=Skill.APPROACH.value, seconds=GRANT_S, task=task_id)


@contextmanager
def backend(model_url: str, folder: Path) -> Iterator[Backend]:
    """Run the gateway to the model at `model_url`, and two Redis. Raises MeasurementError, StackError."""
    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    with ExitStack() as own:
        redis = own.enter_context(RedisProcess("everysec"))
        durable = own.enter_context(RedisProcess("always"))
        settings = environment(
            QUARTET_PORT="0",
            QUARTET_GATEWAY_FILE=str(project_root() / "deploy" / "gateway.yaml"),
            QUARTET_SCRIPTED_MODEL_URL=model_url,
            QUARTET_GATEWAY_KEY=KEY,
            QUARTET_STATE_DIR=str(folder / "gateway"),
            QUARTET_GRANT_PUBLIC_KEY=public.decode(),
        )
        gateway = OwnProcess("gateway", ["-m", "quartet_gateway"], settings, folder)
        own.callback(gateway.end)
        yield Backend(gateway, redis, durable, pem)


@contextmanager
def agent(on: Backend, python: Path, mcp_url: str, system: str, folder: Path) -> Iterator[OwnProcess]:
    """Run the agent process at the durable Redis, in the environment of `python`. Raises MeasurementError."""
    site = project_root() / "deploy" / "sites" / "home"
    servers = {name.partition("__")[0]: mcp_url for name in MODEL_TOOLS[Skill.APPROACH]}
    settings = environment(
        QUARTET_PORT="0",
        QUARTET_REDIS_URL=on.durable.url,
        QUARTET_GATEWAY_URL=on.gateway.url,
        QUARTET_GATEWAY_KEY=KEY,
        QUARTET_SERVERS=json.dumps({ROBOT: servers}),
        QUARTET_ROBOT_FILE=str(site / "robot.yaml"),
        QUARTET_SITE_FILE=str(site / "site.yaml"),
    )
    process = OwnProcess("agent", [str(CLIENTS / "quartet_agent.py"), system], settings, folder, str(python))
    try:
        yield process
    finally:
        process.end()


class Requests:
    """Sends requests to the agent over the bus, one at a time."""

    def __init__(self, on: Backend, process: OwnProcess) -> None:
        self._on = on
        self._process = process
        # In a thread, so that the connections are served also between two requests.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._bus: Bus = self._wait(Bus.connect(on.durable.url))
        self._context = self._bus.replies()
        self._replies: Replies = self._wait(self._context.__aenter__())

    def run(self) -> Run:
        """Let the agent do the task once."""
        request = self._request()
        cpu, begun = self._process.cpu_s(), time.perf_counter()
        result = self._wait(self._replies.ask(self._bus.skills(Skill.APPROACH), request))
        return Run(time.perf_counter() - begun, self._process.cpu_s() - cpu, result.reason)

    def close(self) -> None:
        """Close the connection."""
        self._wait(self._context.__aexit__(None, None, None))
        self._wait(self._bus.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(DEADLINE_S)

    def _request(self) -> SkillRequest:
        now, identity = time.time(), uuid.uuid4().hex[:16]
        task_id = f"t-{identity}"
        return SkillRequest(
            request_id=f"r-{identity}",
            task_id=task_id,
            robot=ROBOT,
            skill=Skill.APPROACH,
            created_at=now,
            deadline=now + DEADLINE_S,
            arguments=ApproachArguments(target_area="kitchen", object_name="red can", next_action=NextAction.PICK),
            grant=self._on.grant(task_id),
            reply_to=self._replies.stream(Skill.APPROACH),
            budget=Budget(),
        )
