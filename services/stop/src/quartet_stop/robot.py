"""One robot: what stops it, and the latch that is kept until a person resets it."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from quartet_contracts import Latch, LatchFile, control_url
from quartet_stop.endpoint import Answer, Endpoint
from quartet_stop.metrics import Metrics

log = logging.getLogger(__name__)

GUARD_S = 2.0
"""Wall time within which the guard must have confirmed a stop."""
SERVER_S = 4.0
"""The same for a server, which answers when its motions have ended."""
RESET_S = 5.0
LOOK_EVERY_S = 1.0
"""While the robot is stopped, it is seen to that guard and servers are; also what keeps the connections open."""
ENFORCE_ALL_S = 10.0
"""A stopped robot's servers are stopped again after this, should one have lost its latch."""
IDLE_LOOK_S = 10.0
NOT_ASKED = "not asked yet"
ASKED = "asked, no answer yet"
STOPPED = "stopped"


class RobotStop:
    """Stops one robot through its guard and its servers. Nothing here waits for the store, a model or a lock."""

    def __init__(self, name: str, guard: Endpoint, servers: list[Endpoint], latch: LatchFile, metrics: Metrics) -> None:
        self.name, self._guard, self._servers, self._file, self._metrics = name, guard, servers, latch, metrics
        self._latch = latch.read()
        self._reached: dict[str, str] = {server.name: NOT_ASKED for server in servers}
        self._guard_state: dict[str, Any] = {}
        self._guard_error = NOT_ASKED
        self._orders: set[asyncio.Task[Any]] = set()
        self._writes: set[asyncio.Task[Any]] = set()
        self._writing = asyncio.Lock()
        self._owed: set[str] = set()
        """Servers that were not running at the reset, and are released when they come back."""
        self._all_at = 0.0
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Sees to it, until canceled, that a stopped robot stays stopped, whoever is started anew."""
        while True:
            self._wake.clear()
            await asyncio.wait([_spawn(self._orders, self._enforce() if self._latch.latched else self._look())])
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_S if self._latch.latched or self._owed else IDLE_LOOK_S):
                    await self._wake.wait()

    async def close(self) -> None:
        await self._give_up_orders()
        await asyncio.gather(*self._writes)
        await asyncio.gather(*(one.close() for one in (self._guard, *self._servers)))

    async def stop(self, reason: str) -> dict[str, Any]:
        """Stop and latch; returns the state as soon as the guard has confirmed, or could not be reached in time."""
        self._latch = Latch(latched=True, reason=reason, since=time.time())
        self._owed.clear()
        self._metrics.stopped(self.name)
        self._guard_state, self._guard_error = {}, ASKED
        for server in self._servers:
            self._reached[server.name] = ASKED
            _spawn(self._orders, self._stop_server(server))
        _spawn(self._writes, self._keep())
        await self._stop_guard()
        self._wake.set()
        return self.state()

    async def reset(self) -> dict[str, Any]:
        """Let the robot move again: servers first, then the guard, so that nothing moves before all may. A stop that
        comes meanwhile prevails. A server that is not running moves nothing; it is released when it comes back.
        """
        self._latch = Latch()
        await self._give_up_orders()
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
        """`stopped` says that the guard has confirmed, `standstill` that the robot was then measured to rest."""
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
        """The state with the guard's newest."""
        self._heard(await self._guard.ask("GET", "/state", within_s=GUARD_S))
        return self.state()

    async def _look(self) -> None:
        """Keeps the connections warm, and releases who was not there at the reset."""
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
        """Guard and servers that were not reached, or that came back without their latch, are stopped again."""
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

    async def _give_up_orders(self) -> None:
        orders = set(self._orders)
        for task in orders:
            task.cancel()
        await asyncio.gather(*orders, return_exceptions=True)

    async def _keep(self) -> None:
        try:
            async with self._writing:
                await asyncio.to_thread(self._file.write, self._latch)
        except OSError as error:
            log.error("the latch file %s cannot be written: %s; a restart would forget this", self._file.path, error)


def _spawn(group: set[asyncio.Task[Any]], work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    task = asyncio.create_task(work)
    group.add(task)
    task.add_done_callback(group.discard)
    return task


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
    """`servers` are MCP endpoints by name; `sign` gives the token for a robot's servers."""
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
