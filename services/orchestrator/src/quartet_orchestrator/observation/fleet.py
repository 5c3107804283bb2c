"""The robots of the deployment and the state of each: idle, busy, stopped, absent, uncertain."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import httpx2

from quartet_bus import Bus
from quartet_contracts import ANY_ROBOT, MOTION_SERVERS, health_url
from quartet_orchestrator.observation.clocks import ClockSkews
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_process.bounded_answers import control_client

FRESH_S = 1.0
"""Age up to which an answer is shared: however many ask, a robot's servers are asked once in this time."""
ANSWER_S = 3.0
"""Time limit for the answer of one server."""


class RobotState(StrEnum):
    """State of a robot."""

    IDLE = "idle"
    BUSY = "busy"
    STOPPED = "stopped"
    """Latched until a person resets it."""
    ABSENT = "absent"
    """A motion server, or the robot's side of its bridge, does not answer."""
    UNCERTAIN = "uncertain"
    """It is not known what it did last; it is brought to rest and looked at before it works again."""


@dataclass(frozen=True)
class _Health:
    state: RobotState
    why: str
    at: float


class Fleet:
    """Asks the motion servers for their health; one per process. While nobody asks, no server is called."""

    def __init__(self, bus: Bus, settings: OrchestratorSettings, problem: Callable[[str], str]) -> None:
        """`problem` returns why it is not known what a robot did last, '' when it is."""
        self._bus = bus
        self._settings = settings
        self._problem = problem
        self._clocks = ClockSkews()
        self._http = control_client(ANSWER_S)
        self._newest: dict[str, _Health] = {}
        self._asking: dict[str, asyncio.Lock] = {}

    async def close(self) -> None:
        """Close the HTTP client."""
        await self._http.aclose()

    @property
    def names(self) -> list[str]:
        """Names of all robots, sorted."""
        return sorted(self._settings.servers)

    def resolve(self, wanted: str | None) -> str:
        """Return the robot that a submission means: the one named, the only one, or ANY_ROBOT.

        Raises KeyError for an unknown name.
        """
        if wanted is None or wanted == ANY_ROBOT:
            return self.names[0] if len(self.names) == 1 else ANY_ROBOT
        if wanted not in self._settings.servers:
            raise KeyError(wanted)
        return wanted

    async def state(self, robot: str) -> tuple[RobotState, str]:
        """Return the state of a robot's servers (never BUSY) and its reason."""
        found = await self._state(robot)
        return found.state, found.why

    async def can_work(self, robot: str) -> bool:
        """Return whether a task that names no robot may go to this one."""
        return (await self._state(robot)).state is RobotState.IDLE

    async def rows(self) -> list[dict[str, Any]]:
        """Return one row for each robot: name, state, why, task, waiting, servers. Raises BusUnavailableError."""
        return list(await asyncio.gather(*(self._row(name) for name in self.names)))

    async def stops(self, robot: str) -> dict[str, tuple[int, bool]]:
        """Return, for each motion server that answers now, how many stops it has counted and whether it is stopped."""
        servers = self._settings.servers_of(robot)
        asked = [name for name in MOTION_SERVERS if name in servers]
        answers = await asyncio.gather(*(self._health(robot, name, also_faulty=True) for name in asked))
        return {
            name: (_whole(answer.get("stops")), answer.get("stopped") is True)
            for name, answer in zip(asked, answers, strict=True)
            if isinstance(answer, dict)
        }

    async def _row(self, robot: str) -> dict[str, Any]:
        tasks = self._bus.robot_tasks(robot)
        health, task, there = await asyncio.gather(self._state(robot), tasks.working_on(), tasks.waiting())
        busy = task is not None and health.state is RobotState.IDLE
        return {
            "name": robot,
            "state": str(RobotState.BUSY if busy else health.state),
            "why": health.why,
            "task": None if task is None else task.task_id,
            "waiting": max(0, there - (task is not None)),
            "servers": sorted(self._settings.servers[robot]),
        }

    async def _state(self, robot: str) -> _Health:
        async with self._asking.setdefault(robot, asyncio.Lock()):
            newest = self._newest.get(robot)
            if newest is None or time.monotonic() - newest.at > FRESH_S:
                newest = self._newest[robot] = await self._ask(robot)
            return newest

    async def _ask(self, robot: str) -> _Health:
        servers = self._settings.servers_of(robot)
        asked = [name for name in MOTION_SERVERS if name in servers]
        missing = [name for name in MOTION_SERVERS if name not in servers]
        if missing:
            return self._found(RobotState.ABSENT, f"it has no server {' and '.join(missing)}")
        answers = await asyncio.gather(*(self._health(robot, name) for name in asked))
        for name, answer in zip(asked, answers, strict=True):
            if isinstance(answer, str):
                return self._found(RobotState.ABSENT, f"server '{name}' does not answer: {answer}")
            if not answer.get("bridge"):
                return self._found(RobotState.ABSENT, f"server '{name}' has no connection to the robot")
        if any(isinstance(answer, dict) and answer.get("stopped") for answer in answers):
            return self._found(RobotState.STOPPED, f"a person stopped it; quartet reset {robot}")
        if problem := self._problem(robot):
            return self._found(RobotState.UNCERTAIN, problem)
        return self._found(RobotState.IDLE, self._clocks.problem(robot))

    def _found(self, state: RobotState, why: str) -> _Health:
        return _Health(state, why, time.monotonic())

    def clock_problem(self, robot: str) -> str:
        """Return whose clock differs from this machine's, by the newest answers of the servers; '' when none does."""
        return self._clocks.problem(robot)

    async def _health(self, robot: str, name: str, *, also_faulty: bool = False) -> dict[str, Any] | str:
        """Return the health that a server of `robot` reports, or why there is none.

        With `also_faulty` the report of a server counts that answers 503, since a part of it has failed.
        """
        sent_at = time.time()
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await self._http.get(health_url(self._settings.servers_of(robot)[name]))
            if not also_faulty:
                answer.raise_for_status()
            said: Any = answer.json()
        except TimeoutError:
            return f"its answer was not whole within {ANSWER_S:g} s"
        except (httpx2.HTTPError, ValueError, RecursionError) as error:
            return f"{type(error).__name__}: {error}"
        if not isinstance(said, dict):
            return "its health is not a JSON object"
        self._clocks.note(robot, name, sent_at, said)
        return said


def _whole(value: object) -> int:
    """Return the count of a server, 0 for one that counts none."""
    return value if isinstance(value, int) else 0
