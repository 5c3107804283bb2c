"""Stops one robot, and keeps its latch until a person resets it."""

import asyncio
import contextlib
import functools
import logging
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from quartet_contracts import control_url
from quartet_process import BackgroundTasks
from quartet_safety.guard import Latch, LatchFile
from quartet_stop.endpoint import Answer, Endpoint
from quartet_stop.metrics import Metrics

log = logging.getLogger(__name__)

GUARD_S = 2.0
"""Wall time within which the guard must confirm a stop."""
SERVER_S = 4.0
"""Wall time within which a server must confirm a stop; it answers when its motions have ended."""
RESET_S = 5.0
LOOK_EVERY_S = 1.0
"""Period of checks of guard and servers while the robot is stopped; they also keep the connections open."""
ENFORCE_ALL_S = 10.0
"""Period after which all servers of a stopped robot are stopped again, in case one has lost its latch."""
IDLE_LOOK_S = 10.0
NOT_ASKED = "not asked yet"
ASKED = "asked, no answer yet"
STOPPED = "stopped"


class RobotStop:
    """Stops one robot through its guard and its servers, waiting for neither the store, a model nor a lock."""

    def __init__(self, name: str, guard: Endpoint, servers: list[Endpoint], latch: LatchFile, metrics: Metrics) -> None:
        self.name, self._guard, self._servers, self._file, self._metrics = name, guard, servers, latch, metrics
        self._latch = latch.read()
        self._reached: dict[str, str] = {server.name: NOT_ASKED for server in servers}
        self._guard_state: dict[str, Any] = {}
        self._guard_error = NOT_ASKED
        self._orders, self._writes = BackgroundTasks(), BackgroundTasks()
        self._writing = asyncio.Lock()
        self._owed: set[str] = set()
        """Servers that were not running at the reset; they are reset when they are back."""
        self._all_at = 0.0
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Keep a stopped robot stopped, also when its guard or servers restart, until canceled."""
        while True:
            self._wake.clear()
            await asyncio.wait([self._start(self._enforce if self._latch.latched else self._look)])
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_S if self._latch.latched or self._owed else IDLE_LOOK_S):
                    await self._wake.wait()

    @property
    def problem(self) -> str | None:
        """Why orders may not reach guard or servers, or the latch its file; None: nothing is known."""
        return self._orders.problem or self._writes.problem

    async def close(self) -> None:
        """End the orders that are under way, keep the latch and close the connections."""
        await self._orders.close()
        await self._writes.join()
        await asyncio.gather(*(one.close() for one in (self._guard, *self._servers)))

    async def stop(self, reason: str) -> dict[str, Any]:
        """Stop and latch, and return the state once the guard has confirmed and the latch is on disk.

        Either is waited for no longer than GUARD_S.
        """
        self._latch = Latch(latched=True, reason=reason, since=time.time())
        self._owed.clear()
        self._metrics.stopped(self.name)
        self._guard_state, self._guard_error = {}, ASKED
        for server in self._servers:
            self._reached[server.name] = ASKED
            self._start(functools.partial(self._stop_server, server))
        keeping = self._writes.start("stop-latch", self._keep, restart_s=None)
        await self._stop_guard()
        await asyncio.wait({keeping}, timeout=GUARD_S)
        self._wake.set()
        return self.state()

    async def reset(self) -> dict[str, Any]:
        """Let the robot move again, and return the state with `reset`, `missed` and `absent`.

        Servers come first, then the guard, so that nothing moves before all may. A stop that comes meanwhile prevails.
        A server that is not running moves nothing; it is reset when it is back.
        """
        self._latch = Latch()
        await self._orders.close()
        answers = list(await asyncio.gather(*(self._reset(server, "") for server in self._servers)))
        absent: list[str] = []
        for server, answer in zip(self._servers, answers, strict=True):
            self._reached[server.name] = "reset" if answer.ok else answer.error
            if answer.absent:
                absent.append(server.name)
        answers = [answer for answer in answers if not answer.absent]
        self._owed = set() if self._latch.latched else set(absent)
        if not self._latch.latched:
            answer = await self._reset(self._guard, "/reset")
            self._heard(answer)
            answers.append(answer)
        if self._latch.latched:
            await self._stop_guard()
        missed = [answer.error for answer in answers if not answer.ok]
        if self._latch.latched:
            missed.append(f"stopped again meanwhile: {self._latch.reason}")
        await self._keep()
        self._wake.set()
        log.warning("%s was reset%s", self.name, f"; not reached: {'; '.join(missed)}" if missed else "")
        return {**self.state(), "reset": not missed, "missed": missed, "absent": absent}

    def state(self) -> dict[str, Any]:
        """Return the state: `stopped`, the guard has confirmed; `standstill`, it then measured the robot at rest."""
        guard = self._guard_state
        return {
            "latched": self._latch.latched,
            "reason": self._latch.reason,
            "since": self._latch.since,
            "stopped": guard.get("latched") is True,
            "standstill": guard.get("standstill") if guard.get("latched") is True else None,
            "guard": guard or {"error": self._guard_error},
            "servers": dict(self._reached),
        }

    async def look(self) -> dict[str, Any]:
        """Ask the guard for its state, and return the state of the robot."""
        self._heard(await self._guard.ask("GET", "/state", within_s=GUARD_S))
        return self.state()

    async def _look(self) -> None:
        """Keep the connections open, and reset servers that were absent at the reset."""
        owed = [server for server in self._servers if server.name in self._owed]
        await asyncio.gather(
            self.look(), *(self._warm(server) for server in self._servers), *(self._release(server) for server in owed)
        )

    async def _release(self, server: Endpoint) -> None:
        answer = await self._reset(server, "")
        if self._latch.latched:
            # A stop came meanwhile, and may have reached the server first.
            await self._stop_server(server)
        elif answer.ok:
            self._owed.discard(server.name)
            self._reached[server.name] = "reset"

    async def _warm(self, server: Endpoint) -> None:
        await server.ask("GET", "/health", within_s=GUARD_S)

    async def _enforce(self) -> None:
        """Stop guard and servers again that were not reached or have lost their latch."""
        await self.look()
        everyone = time.monotonic() - self._all_at > ENFORCE_ALL_S
        if everyone:
            self._all_at = time.monotonic()
        chosen = [server for server in self._servers if everyone or self._reached[server.name] != STOPPED]
        work = [self._stop_server(server) for server in chosen]
        if self._latch.latched and not self.state()["stopped"]:
            work.append(self._stop_guard())
        await asyncio.gather(*work)

    async def _stop_guard(self) -> None:
        answer = await self._guard.ask("POST", "/stop", {"reason": self._latch.reason}, within_s=GUARD_S, hedge=True)
        if self._latch.latched:
            self._heard(answer)
            self._metrics.reached(self.name, "guard", answer.seconds if answer.ok else None)

    async def _stop_server(self, server: Endpoint) -> None:
        body = {"reason": self._latch.reason, "latch": True}
        answer = await server.ask("POST", "/control/stop", body, within_s=SERVER_S, hedge=True)
        if self._latch.latched:
            self._reached[server.name] = STOPPED if answer.ok else answer.error
            self._metrics.reached(self.name, server.name, answer.seconds if answer.ok else None)

    async def _reset(self, target: Endpoint, path: str) -> Answer:
        answer = await target.ask("POST", path or "/control/reset", within_s=RESET_S)
        if answer.broken and not self._latch.latched:
            answer = await target.ask("POST", path or "/control/reset", within_s=RESET_S)
        return answer

    def _heard(self, answer: Answer) -> None:
        self._guard_state, self._guard_error = answer.fields or {}, answer.error

    def _start(self, order: Callable[[], Coroutine[Any, Any, None]]) -> "asyncio.Task[None]":
        return self._orders.start("stop-order", order, restart_s=None)

    async def _keep(self) -> None:
        try:
            async with self._writing:
                await asyncio.to_thread(self._file.write, self._latch)
        except OSError as error:
            log.error("the latch file %s cannot be written: %s; a restart loses this stop", self._file.path, error)


def make_robot(
    name: str,
    guard_url: str,
    servers: dict[str, str],
    *,
    guard_token: Callable[[], str | None],
    sign: Callable[[str], str],
    state_dir: Path,
    metrics: Metrics,
) -> RobotStop:
    """Return the RobotStop of a robot.

    Args:
        name: Of the robot.
        guard_url: HTTP port of its guard.
        servers: MCP endpoints by name of the server.
        guard_token: Returns the bearer token of the guard, if it asks for one.
        sign: Returns the token for the servers of a robot.
        state_dir: Folder of the latch file.
        metrics: Of the process.
    """
    return RobotStop(
        name,
        Endpoint("guard", guard_url, guard_token),
        [
            Endpoint(server, control_url(url, "").removesuffix("/control/"), lambda: sign(name))
            for server, url in sorted(servers.items())
        ],
        LatchFile(state_dir / f"stop-{name}.json"),
        metrics,
    )
