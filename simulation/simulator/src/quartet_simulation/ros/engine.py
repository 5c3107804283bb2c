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
from quartet_simulation.arm_simulation import ArmSimulation
from quartet_simulation.ros.running import fail, resolve

log = logging.getLogger(__name__)
Command = Callable[[Any], None]
CHUNK_S = 0.02
"""World time between two looks at commands and goals."""
THINKING_S = 5.0
"""Wall time after a goal or timed wait for which a robot without another one counts as thinking."""
LEAST_SHARE, SHARE_WEIGHT = 0.02, 0.02
"""Least share of a core that is reckoned with, and the weight of the newest step in its mean."""


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

    @property
    def rested_at(self) -> float:
        """When its last goal or timed wait ended, on the monotonic clock [s]."""
        ...

    def needs_time(self, sim: ArmSimulation) -> bool:
        """Return whether world time has to advance for this robot."""
        ...

    def moved(self, sim: ArmSimulation, settled: Callable[[], bool]) -> None:
        """Follow goals after world time has advanced; results are returned only if `settled`."""
        ...

    def stands(self, sim: ArmSimulation) -> list[float]:
        """Call the observers while world time stands still; return after how many wall seconds to call them again."""
        ...

    def give_up(self) -> list[Any]:
        """Return the goals that a new episode ends, and forget them."""
        ...

    def begin_anew(self, sim: ArmSimulation, goals: list[Any]) -> None:
        """Begin a new episode; `goals` ran in the last one."""
        ...


class Engine:
    """Runs `make()` in a thread of its own; each of `worlds` is one of its robots.

    Args:
        make: builds the simulation.
        realtime: world time follows the wall clock.
        realtime_thinking: so it does in the fast mode while one robot moves and another one thinks, slower by the
            share of a core that this thread gets: other programs on the machine slow the thinking down as well.
    """

    def __init__(
        self, make: Callable[[], ArmSimulation], realtime: bool = False, realtime_thinking: bool = False
    ) -> None:
        self.realtime = realtime
        self._realtime_thinking = realtime_thinking
        self._share = 1.0
        """Share of a core that the last steps have got."""
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

    def _run(self, sim: ArmSimulation) -> None:
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
            if self._thinking():
                due = self._pace(sim, due, CHUNK_S / max(self._share, LEAST_SHARE))
            elif self.realtime or (not at_work and any(world.needs_time(robot) for world, robot in worlds)):
                due = self._pace(sim, due, CHUNK_S)
            else:
                due = time.monotonic()

    def _thinking(self) -> bool:
        """Whether a robot is between two of its goals while another one moves, and its thinking is to take its time."""
        if not self._realtime_thinking or not any(world.working for world in self.worlds):
            return False
        since = time.monotonic() - THINKING_S
        return any(not world.working and world.rested_at > since for world in self.worlds)

    def _step(self, sim: ArmSimulation) -> None:
        began, worked, before = time.perf_counter(), time.thread_time(), sim.time
        sim.step(CHUNK_S)
        self.time = sim.time
        took = time.perf_counter() - began
        if took > 0:
            got = min(1.0, (time.thread_time() - worked) / took)
            self._share += SHARE_WEIGHT * (got - self._share)
        metrics.STEP_SECONDS.inc(took)
        metrics.WORLD_SECONDS.inc(sim.time - before)

    def _take_commands(self, sim: ArmSimulation) -> None:
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

    def _settling(self, sim: ArmSimulation) -> bool:
        # In fast mode a goal starts only in a settled world: what happens does not depend on when it came.
        if self.realtime or any(world.working for world in self.worlds):
            return False
        return any(sim.time < world.tail_until for world in self.worlds)

    def _pace(self, sim: ArmSimulation, due: float, chunk_s: float) -> float:
        """Wait until the next chunk is due on the wall clock; what is commanded meanwhile is done at once."""
        due = max(due + chunk_s, time.monotonic() - 0.1)
        while (left := due - time.monotonic()) > 0 and not self._closing:
            with self._wake:
                if not any(self._queues.values()):
                    self._wake.wait(left)
            self._take_commands(sim)
        return due

    def _stand_still(self, sim: ArmSimulation) -> None:
        delays = [delay for world, robot in zip(self.worlds, sim.robots, strict=False) for delay in world.stands(robot)]
        with self._wake:
            if not (any(self._queues.values()) or self._closing or self._poked):
                self._wake.wait(min(delays, default=None))
            self._poked = False
