"""Many tasks for many robots: real orchestrator, agents and Redis, and motions that take no time."""

import asyncio
import contextlib
import json
import os
import secrets
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from quartet_benchmarks.fleet.redis_process import RedisProcess
from quartet_bus import Bus
from quartet_contracts import TERMINAL, TaskStatus, decode
from quartet_contracts.journal import SkillRequested, SkillStarted
from quartet_deployment import SecretsFolder, StackError, project_root

START_S = 120.0
SENTENCES = ("go to the kitchen", "go to the living room", "go to the dining room")
"""Tasks that need only an approach agent, because the delivery of work is measured and not the work."""
RETRY_S = 0.2


@dataclass
class LoadResult:
    """Results of the tasks."""

    accepted: int = 0
    states: Counter[str] = field(default_factory=Counter[str])
    lost: list[str] = field(default_factory=list[str])
    """Accepted tasks in no terminal state at the end of the time."""
    wall_s: float = 0.0
    queue_age_s: list[float] = field(default_factory=list[float])
    """Times from a skill's request to its start by an agent [s]."""
    wait_s: list[float] = field(default_factory=list[float])
    """Times from a task's acceptance to its end [s]."""
    restarts: int = 0


class FleetLoad:
    """Processes: one of instant servers, the scripted model, an orchestrator and `replicas` of each agent."""

    def __init__(self, redis: RedisProcess, folder: Path, robots: int, replicas: int, agents: tuple[str, ...]) -> None:
        self._redis, self._folder = redis, folder
        self.robots = [f"robot{number + 1}" for number in range(robots)]
        self._replicas, self._agents = replicas, agents
        self._processes: list[subprocess.Popen[bytes]] = []
        self.url = ""

    def start(self) -> None:
        """Start all and wait until they serve. Raises StackError."""
        site = project_root() / "deploy" / "sites" / "home"
        files = {"QUARTET_ROBOT_FILE": str(site / "robot.yaml"), "QUARTET_SITE_FILE": str(site / "site.yaml")}
        keys = SecretsFolder(self._folder / "secrets")
        keys.init()
        first = {
            "instant": self._spawn(
                "instant",
                "quartet_benchmarks.fleet.instant_servers",
                {
                    **files,
                    "QUARTET_ROBOT_NAMES": json.dumps(self.robots),
                    "QUARTET_GRANT_PUBLIC_KEY_FILE": str(keys.path("nav2", "grant_public_key")),
                    "QUARTET_STATE_DIR": str(self._folder / "state"),
                },
            ),
            "model": self._spawn("model", "quartet_scripted_model", {}),
        }
        urls = {name: self._wait(ready) for name, ready in first.items()}
        servers = {
            robot: {server: f"{urls['instant']}/{server}/{robot}/mcp" for server in ("nav2", "moveit", "perception")}
            for robot in self.robots
        }
        common = {
            **files,
            "QUARTET_REDIS_URL": self._redis.url,
            "QUARTET_GATEWAY_URL": urls["model"],
            "QUARTET_SERVERS": json.dumps(servers),
        }
        signing = {
            "QUARTET_GRANT_PRIVATE_KEY_FILE": str(keys.path("orchestrator", "grant_private_key")),
            "QUARTET_ALLOW_ANONYMOUS": "true",
        }
        orchestrator = self._spawn("orchestrator", "quartet_orchestrator", {**common, **signing})
        ready = [
            self._spawn(f"{agent}{number}", f"quartet_{agent}", common)
            for agent in self._agents
            for number in range(self._replicas)
        ]
        self.url = self._wait(orchestrator)
        for one in ready:
            self._wait(one)

    def close(self) -> None:
        """End all processes."""
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            if process.poll() is None:
                process.kill()
                process.wait()

    def log(self, name: str) -> str:
        """Return the last 3,000 characters of the log of a process."""
        return (self._folder / f"{name}.log").read_text(errors="replace")[-3000:]

    def _spawn(self, name: str, module: str, environment: dict[str, str]) -> Path:
        ready = self._folder / f"{name}.json"
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", module],
                    env={
                        **os.environ,
                        "QUARTET_HOST": "127.0.0.1",
                        "QUARTET_PORT": "0",
                        "QUARTET_READY_FILE": str(ready),
                        "QUARTET_LOG_FORMAT": "text",
                        **environment,
                    },
                    stdout=log,
                    stderr=log,
                )
            )
        return ready

    def _wait(self, ready: Path) -> str:
        end = time.monotonic() + START_S
        while not ready.exists():
            if time.monotonic() > end or any(process.poll() is not None for process in self._processes):
                raise StackError(f"{ready.stem} did not come up:\n{self.log(ready.stem)}")
            time.sleep(0.02)
        return str(json.loads(ready.read_text())["url"])


async def run_tasks(
    load: FleetLoad, redis: RedisProcess, count: int, *, crash_every_s: float | None, limit_s: float
) -> LoadResult:
    """Submit `count` tasks at once that name no robot and return how they end; Redis crashes meanwhile.

    Raises StackError when Redis does not come back, or not all were accepted within `limit_s`.
    """
    found, begun, over = LoadResult(), time.monotonic(), asyncio.Event()
    crashing = asyncio.create_task(_crash(redis, crash_every_s, found, over)) if crash_every_s else None
    limits = httpx.Limits(max_connections=40)
    try:
        async with httpx.AsyncClient(base_url=load.url, timeout=30, limits=limits, trust_env=False) as http:
            try:
                async with asyncio.timeout(limit_s):
                    names = await asyncio.gather(*(_submit(http, index) for index in range(count)))
            except TimeoutError:
                raise StackError(f"not all of {count} tasks were accepted within {limit_s:g} s") from None
            found.accepted = len(names)
            ended = await _until_ended(http, names, begun + limit_s)
    finally:
        over.set()
        if crashing is not None:
            # Awaited and not canceled, so that Redis runs when its tasks are read.
            await crashing
    found.wall_s = time.monotonic() - begun
    for name in names:
        status = ended.get(name)
        if status is None:
            found.lost.append(name)
        else:
            found.states[str(status.state)] += 1
            found.wait_s.append(status.updated_at - status.task.created_at)
    await _read_ages(redis, [name for name in names if name in ended], found)
    return found


async def _submit(http: httpx.AsyncClient, index: int) -> str:
    """Submit a task with an idempotency key, so that it can be repeated when its answer was lost."""
    body = {"sentence": SENTENCES[index % len(SENTENCES)], "timeout_s": 3600}
    key = f"bench-{secrets.token_hex(8)}"
    while True:
        with contextlib.suppress(httpx.TransportError):
            answer = await http.post("/tasks", json=body, headers={"Idempotency-Key": key})
            if answer.status_code == 202:
                return decode(TaskStatus, answer.content).task.task_id
            if answer.status_code < 500:
                raise StackError(f"a task was refused with {answer.status_code}: {answer.text[:300]}")
        await asyncio.sleep(RETRY_S)


async def _until_ended(http: httpx.AsyncClient, names: list[str], end: float) -> dict[str, TaskStatus]:
    """Return the status of each task that reached a terminal state before `end`."""
    ended: dict[str, TaskStatus] = {}
    while len(ended) < len(names) and time.monotonic() < end:
        for name in names:
            if name in ended:
                continue
            with contextlib.suppress(httpx.TransportError):
                answer = await http.get(f"/tasks/{name}")
                if answer.status_code != 200:
                    break
                status = decode(TaskStatus, answer.content)
                if status.state not in TERMINAL:
                    continue
                ended[name] = status
        await asyncio.sleep(RETRY_S)
    return ended


async def _crash(redis: RedisProcess, every_s: float, found: LoadResult, over: asyncio.Event) -> None:
    while True:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), every_s)
            return
        redis.kill()
        await asyncio.to_thread(redis.start)
        found.restarts += 1


async def _read_ages(redis: RedisProcess, names: list[str], found: LoadResult) -> None:
    async with await Bus.connect(redis.url) as bus:
        for name in names:
            asked: dict[str, float] = {}
            for event in await bus.journal.read_all(name):
                if isinstance(event.event, SkillRequested):
                    asked[event.event.request_id] = event.at
                elif isinstance(event.event, SkillStarted) and event.event.request_id in asked:
                    found.queue_age_s.append(max(0.0, event.at - asked[event.event.request_id]))
