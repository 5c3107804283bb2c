"""The thread that owns a simulation of one or several robots: it runs commands and advances world time."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from quartet_simulation import metrics
from quartet_simulation.ros.running import fail, resolve
from quartet_simulation.simulation import Simulation

log = logging.getLogger(__name__)
Command = Callable[[Simulation], None]
CHUNK_S = 0.02
"""World time between two looks at commands and goals."""


class Inhabitant(Protocol):
    """One robot in the world, as the engine's thread uses it."""

    @property
    def working(self) -> bool:
        """Whether a goal or a timed wait runs."""
        ...

    @property
    def tail_until(self) -> float:
        """World time until which objects settle after the last goal [s]."""
        ...

    def needs_time(self, sim: Simulation) -> bool:
        """Return whether world time has to advance for this robot."""
        ...

    def moved(self, sim: Simulation, settled: Callable[[], bool]) -> None:
        """Follow goals after world time has advanced; results are returned only if `settled`."""
        ...

    def stands(self, sim: Simulation) -> list[float]:
        """Call the observers while world time stands still; return after how many wall seconds to call them again."""
        ...

    def give_up(self) -> list[Any]:
        """Return the goals that a new episode ends, and forget them."""
        ...

    def begin_anew(self, sim: Simulation, goals: list[Any]) -> None:
        """Begin a new episode; `goals` ran in the last one."""
        ...


class Engine:
    """Runs `make()` in a thread of its own; each of `worlds` is one of its robots."""

    def __init__(self, make: Callable[[], Simulation], realtime: bool = False) -> None:
        self.realtime = realtime
        self.worlds: list[Inhabitant] = []
        self.time = 0.0
        self.revision = 0
        self.loop: asyncio.AbstractEventLoop
        self.failed: asyncio.Future[None]
        self._make = make
        self._wake = threading.Condition()
        self._queues: dict[str, deque[Command]] = {"urgent": deque(), "reads": deque(), "starts": deque()}
        """In the order in which they are served; what is under `starts` waits until the world has settled."""
        self._closing = False
        self._poked = False
        self._thread: threading.Thread | None = None

    async def start(self) -> None:
        """Build the simulation; returns when it is ready. Raises what its constructor raises."""
        if self._thread is not None:
            return
        self.loop = asyncio.get_running_loop()
        self.failed = self.loop.create_future()
        ready: asyncio.Future[None] = self.loop.create_future()
        self._thread = threading.Thread(target=self._main, args=(ready,), name="simulation", daemon=True)
        self._thread.start()
        await ready

    async def close(self) -> None:
        """End the thread and free the renderers."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def push(self, queue: str, command: Command) -> None:
        """Let the thread run `command` with the first robot's simulation."""
        with self._wake:
            self._queues[queue].append(command)
            self._wake.notify()

    def poke(self) -> None:
        """Call the observers at once, also while world time stands still."""
        with self._wake:
            self._poked = True
            self._wake.notify()

    def post(self, function: Callable[..., object], *args: object) -> None:
        """Let the event loop call `function`."""
        self.loop.call_soon_threadsafe(function, *args)

    # --- the thread -----------------------------------------------------------------------------------
    def _main(self, ready: asyncio.Future[None]) -> None:
        try:
            sim = self._make()
        except BaseException as error:
            self.post(fail, ready, error)
            return
        self.time = sim.time
        self.post(resolve, ready, None)
        try:
            self._run(sim)
        except Exception as error:
            log.exception("the simulation failed")
            self.post(fail, self.failed, error)
        finally:
            sim.close()

    def _run(self, sim: Simulation) -> None:
        due = time.monotonic()
        while not self._closing:
            self._take_commands(sim)
            worlds = list(zip(self.worlds, sim.robots, strict=False))
            if not self.realtime and not any(world.needs_time(robot) for world, robot in worlds):
                self._stand_still(sim)
                due = time.monotonic()
                continue
            self._step(sim)
            for world, robot in worlds:
                world.moved(robot, lambda: not self._settling(sim))
            at_work = any(world.working or sim.time < world.tail_until for world in self.worlds)
            due = self._pace(due) if self.realtime or not at_work else time.monotonic()

    def _step(self, sim: Simulation) -> None:
        began, before = time.perf_counter(), sim.time
        sim.step(CHUNK_S)
        self.time = sim.time
        metrics.STEP_SECONDS.inc(time.perf_counter() - began)
        metrics.WORLD_SECONDS.inc(sim.time - before)

    def _take_commands(self, sim: Simulation) -> None:
        urgent, reads, starts = self._queues.values()
        while True:
            with self._wake:
                if urgent:
                    command = urgent.popleft()
                elif reads:
                    command = reads.popleft()
                elif starts and not self._settling(sim):
                    command = starts.popleft()
                else:
                    return
            command(sim)

    def _settling(self, sim: Simulation) -> bool:
        # In fast mode a goal starts only in a settled world: what happens does not depend on when it came.
        if self.realtime or any(world.working for world in self.worlds):
            return False
        return any(sim.time < world.tail_until for world in self.worlds)

    def _pace(self, due: float) -> float:
        due = max(due + CHUNK_S, time.monotonic() - 0.1)
        while (left := due - time.monotonic()) > 0 and not self._closing:
            with self._wake:
                if not any(self._queues.values()):
                    self._wake.wait(left)
                if any(self._queues.values()):
                    break
        return due

    def _stand_still(self, sim: Simulation) -> None:
        delays = [delay for world, robot in zip(self.worlds, sim.robots, strict=False) for delay in world.stands(robot)]
        with self._wake:
            if not (any(self._queues.values()) or self._closing or self._poked):
                self._wake.wait(min(delays, default=None))
            self._poked = False
