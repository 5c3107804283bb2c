"""The robots of the deployment: which could work now, which does, which is stopped or not there."""

import asyncio
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import httpx2

from quartet_bus import Bus
from quartet_contracts import ANY_ROBOT, MOTION_SERVERS, health_url
from quartet_orchestrator.settings import OrchestratorSettings

FRESH_S = 1.0
"""However many ask, a robot's servers are asked at most once in this time."""
ANSWER_S = 3.0


class Condition(StrEnum):
    """What can be said of a robot."""

    IDLE = "idle"
    BUSY = "busy"
    STOPPED = "stopped"
    """A person must reset it."""
    ABSENT = "absent"
    """A server that moves it, or its side of the bridge, does not answer."""


@dataclass(frozen=True)
class _Look:
    condition: Condition
    why: str
    at: float


class Fleet:
    """One per process. Nothing is asked while nobody wants to know."""

    def __init__(self, bus: Bus, settings: OrchestratorSettings) -> None:
        self._bus = bus
        self._settings = settings
        self._http = httpx2.AsyncClient(timeout=httpx2.Timeout(ANSWER_S), trust_env=False)
        self._looks: dict[str, _Look] = {}
        self._looking: dict[str, asyncio.Lock] = {}

    async def close(self) -> None:
        await self._http.aclose()

    @property
    def names(self) -> list[str]:
        return sorted(self._settings.servers)

    def resolve(self, wanted: str | None) -> str:
        """The robot that a submission means: itself, the only one, or ANY_ROBOT. Raises KeyError for an unknown one."""
        if wanted is None or wanted == ANY_ROBOT:
            return self.names[0] if len(self.names) == 1 else ANY_ROBOT
        if wanted not in self._settings.servers:
            raise KeyError(wanted)
        return wanted

    async def can_work(self, robot: str) -> bool:
        """Whether a task that names no robot may go to this one."""
        return (await self._look(robot)).condition is Condition.IDLE

    async def rows(self) -> list[dict[str, Any]]:
        """One a robot: name, state, why, task, waiting, servers. Raises BusUnavailable."""
        return list(await asyncio.gather(*(self._row(name) for name in self.names)))

    async def _row(self, robot: str) -> dict[str, Any]:
        tasks = self._bus.robot_tasks(robot)
        look, task, there = await asyncio.gather(self._look(robot), tasks.working_on(), tasks.waiting())
        busy = task is not None and look.condition is Condition.IDLE
        return {
            "name": robot,
            "state": str(Condition.BUSY if busy else look.condition),
            "why": look.why,
            "task": None if task is None else task.task_id,
            "waiting": max(0, there - (task is not None)),
            "servers": sorted(self._settings.servers[robot]),
        }

    async def _look(self, robot: str) -> _Look:
        async with self._looking.setdefault(robot, asyncio.Lock()):
            newest = self._looks.get(robot)
            if newest is None or time.monotonic() - newest.at > FRESH_S:
                newest = self._looks[robot] = await self._ask(robot)
            return newest

    async def _ask(self, robot: str) -> _Look:
        servers = self._settings.servers_of(robot)
        asked = [name for name in MOTION_SERVERS if name in servers]
        missing = [name for name in MOTION_SERVERS if name not in servers]
        if missing:
            return self._found(Condition.ABSENT, f"it has no server {' and '.join(missing)}")
        answers = await asyncio.gather(*(self._health(servers[name]) for name in asked))
        for name, answer in zip(asked, answers, strict=True):
            if isinstance(answer, str):
                return self._found(Condition.ABSENT, f"server '{name}' does not answer: {answer}")
            if not answer.get("bridge"):
                return self._found(Condition.ABSENT, f"server '{name}' has no connection to the robot")
        if any(isinstance(answer, dict) and answer.get("stopped") for answer in answers):
            return self._found(Condition.STOPPED, f"a person stopped it; quartet reset {robot}")
        return self._found(Condition.IDLE, "")

    def _found(self, condition: Condition, why: str) -> _Look:
        return _Look(condition, why, time.monotonic())

    async def _health(self, url: str) -> dict[str, Any] | str:
        """What the server says of itself, or why it says nothing."""
        try:
            answer = await self._http.get(health_url(url))
            answer.raise_for_status()
            said: Any = answer.json()
        except (httpx2.HTTPError, ValueError) as error:
            return f"{type(error).__name__}: {error}"
        return said if isinstance(said, dict) else "its health is not a JSON object"
