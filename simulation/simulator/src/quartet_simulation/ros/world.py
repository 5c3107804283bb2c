"""The thread that owns the simulation: commands go in from the event loop, time advances by the clock rule.

Fast mode: world time advances only while a goal, a timed wait, a braking robot or a fresh /cmd_vel needs it, plus a
short tail after the last goal so that the world settles; then it stands still. Real-time mode: it follows the wall
clock.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from quartet_simulation.goal import Goal
from quartet_simulation.ros.running import Observer, RunningGoal, Stopped, cancel, fail, resolve
from quartet_simulation.simulation import Simulation

log = logging.getLogger(__name__)
T = TypeVar("T")

CHUNK_S = 0.02
"""World time between two looks at commands and goals."""
TAIL_S = 0.3
"""World time after the last goal in which objects settle."""
VELOCITY_TIMEOUT_S = 0.5
"""World time after which a velocity command is stale; the value of ros2_controllers' diff_drive_controller."""
BRAKING_LIMIT_S = 3.0
"""World time within which a stopped robot must have come to rest for standstill to be reported."""
FEEDBACK_PERIOD_S = 0.1
"""Wall time between two feedback messages of a goal."""


class World:
    """Runs `make()` in a thread of its own. All methods are for the event loop; `time` for any thread."""

    def __init__(self, make: Callable[[], Simulation], realtime: bool = False) -> None:
        self.realtime = realtime
        self.observers: list[Observer] = []
        self.time = 0.0
        self.revision = 0
        self.navigation_active = True
        """Whether Nav2's nodes are active; a new episode finds them so."""
        self._make = make
        self._loop: asyncio.AbstractEventLoop
        self._wake = threading.Condition()
        self._urgent: deque[Callable[[Simulation], None]] = deque()
        self._reads: deque[Callable[[Simulation], None]] = deque()
        self._starts: deque[Callable[[Simulation], None]] = deque()
        self._closing = False
        self._poked = False
        self._goals: list[RunningGoal] = []
        self._ended: list[RunningGoal] = []
        self._waits: list[tuple[float, asyncio.Future[None]]] = []
        self._braking: tuple[float, asyncio.Future[bool]] | None = None
        self._latched = False
        self._tail_until = 0.0
        self._velocity_until = -BRAKING_LIMIT_S
        self._was_moving = False
        self._thread: threading.Thread | None = None
        self.failed: asyncio.Future[None]

    # --- life ---------------------------------------------------------------------------------------
    async def start(self) -> None:
        """Build the simulation; returns when it is ready. Raises what its constructor raises."""
        self._loop = asyncio.get_running_loop()
        self.failed = self._loop.create_future()
        ready: asyncio.Future[None] = self._loop.create_future()
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

    # --- commands -----------------------------------------------------------------------------------
    def call(self, function: Callable[[Simulation], T], urgent: bool = False) -> asyncio.Future[T]:
        """Run `function(sim)` in the simulation's thread, between two chunks."""
        done: asyncio.Future[T] = self._loop.create_future()

        def run(sim: Simulation) -> None:
            try:
                value = function(sim)
            except Exception as error:
                self._post(fail, done, error)
            else:
                self._post(resolve, done, value)

        self._push(self._urgent if urgent else self._reads, run)
        return done

    def run_goal(
        self,
        start: Callable[[Simulation], Goal],
        on_feedback: Callable[[dict[str, Any]], None] | None = None,
    ) -> RunningGoal:
        """Start a goal. `done` fails with Stopped while the guard is latched, or with what `start` raises."""
        running = RunningGoal(self._loop.create_future(), on_feedback=on_feedback)

        def run(sim: Simulation) -> None:
            try:
                if self._latched:
                    raise Stopped("the robot guard is latched; reset it at /robot_guard/reset")
                running.goal = start(sim)
            except Exception as error:
                self._post(fail, running.done, error)
                return
            if running.cancelled:
                running.goal.cancel()
            self._goals.append(running)

        self._push(self._starts, run)
        return running

    def wait(self, seconds: float) -> asyncio.Future[None]:
        """A timed wait in world time; ends early when cancelled or when the guard stops the robot."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._push(self._starts, lambda sim: self._waits.append((sim.time + seconds, done)))
        return done

    def command_velocity(self, vx: float, vy: float, wz: float) -> None:
        """Drive by velocity in base_footprint; ignored while the guard is latched."""

        def run(sim: Simulation) -> None:
            if not self._latched:
                sim.command_velocity(vx, vy, wz)
                self._velocity_until = sim.time + VELOCITY_TIMEOUT_S

        self._push(self._reads, run)

    def halt(self, latch: bool = True) -> tuple[asyncio.Future[None], asyncio.Future[bool]]:
        """Guard stop, before everything else that waits; with `latch` nothing moves until `release`.

        Futures: halted, and whether standstill was measured.
        """
        halted: asyncio.Future[None] = self._loop.create_future()
        still: asyncio.Future[bool] = self._loop.create_future()

        def run(sim: Simulation) -> None:
            self._latched = self._latched or latch
            sim.halt()
            self._velocity_until = -BRAKING_LIMIT_S
            for _, done in self._waits:
                self._post(cancel, done)
            self._waits.clear()
            if self._braking is not None:
                self._post(resolve, self._braking[1], False)
            self._braking = (sim.time + BRAKING_LIMIT_S, still)
            self._post(resolve, halted, None)

        self._push(self._urgent, run)
        return halted, still

    def release(self) -> asyncio.Future[None]:
        """Let motion start again after a guard stop."""

        def run(_: Simulation) -> None:
            self._latched = False

        return self.call(run, urgent=True)

    def reset(self, world: str | None, seed: int, scenario: str | None) -> asyncio.Future[None]:
        """A new episode: running goals end as aborted, world time starts at 0."""

        def run(sim: Simulation) -> None:
            goals, self._goals, self._ended = [*self._goals, *self._ended], [], []
            sim.reset(world, seed, scenario)
            for running in goals:
                if running.goal is not None:
                    running.goal.finish("ABORTED", sim.time, 0, "the world was reset")
                self._deliver(running)
            for _, done in self._waits:
                self._post(cancel, done)
            self._waits.clear()
            self._tail_until, self._velocity_until = 0.0, -BRAKING_LIMIT_S
            self.navigation_active = True
            self.time = sim.time
            self.revision += 1

        return self.call(run)

    def change(self, function: Callable[[Simulation], None]) -> asyncio.Future[None]:
        """Change the world outside of physics (scenario set-up); it settles before anything else moves."""

        def run(sim: Simulation) -> None:
            function(sim)
            self.revision += 1
            self._tail_until = sim.time + TAIL_S

        return self.call(run)

    def poke(self) -> None:
        """Let the observers look at once, also in a standing world."""
        with self._wake:
            self._poked = True
            self._wake.notify()

    def _push(self, queue: deque[Callable[[Simulation], None]], command: Callable[[Simulation], None]) -> None:
        with self._wake:
            queue.append(command)
            self._wake.notify()

    def _post(self, function: Callable[..., object], *args: object) -> None:
        self._loop.call_soon_threadsafe(function, *args)

    # --- the thread -----------------------------------------------------------------------------------
    def _main(self, ready: asyncio.Future[None]) -> None:
        try:
            sim = self._make()
        except BaseException as error:
            self._post(fail, ready, error)
            return
        self.time = sim.time
        self._post(resolve, ready, None)
        try:
            self._run(sim)
        except Exception as error:
            log.exception("the simulation failed")
            self._post(fail, self.failed, error)
        finally:
            sim.close()

    def _run(self, sim: Simulation) -> None:
        due = time.monotonic()
        while not self._closing:
            self._take_commands(sim)
            moving = self._needs_time(sim)
            if not moving:
                self._stand_still(sim)
                due = time.monotonic()
                continue
            sim.step(CHUNK_S)
            self.time = sim.time
            self._was_moving = True
            self._look_after_goals(sim)
            for observer in self.observers:
                observer.tick(sim, True)
            if self.realtime or not (self._goals or self._waits or sim.time < self._tail_until):
                due = self._pace(due)
            else:
                due = time.monotonic()

    def _take_commands(self, sim: Simulation) -> None:
        while True:
            with self._wake:
                if self._urgent:
                    command = self._urgent.popleft()
                elif self._reads:
                    command = self._reads.popleft()
                elif self._starts and not self._settling(sim):
                    command = self._starts.popleft()
                else:
                    return
            command(sim)

    def _settling(self, sim: Simulation) -> bool:
        # In fast mode a goal starts only in a settled world: what happens does not depend on when it came.
        return not self.realtime and not self._goals and not self._waits and sim.time < self._tail_until

    def _needs_time(self, sim: Simulation) -> bool:
        return (
            self.realtime
            or bool(self._goals or self._ended or self._waits or self._braking)
            or sim.time < max(self._tail_until, self._velocity_until)
            or self._coasting(sim)
        )

    def _coasting(self, sim: Simulation) -> bool:
        # A stale velocity command ends in standstill, not in a world frozen in motion.
        return sim.time < self._velocity_until + BRAKING_LIMIT_S and not sim.at_standstill

    def _pace(self, due: float) -> float:
        due = max(due + CHUNK_S, time.monotonic() - 0.1)
        while (left := due - time.monotonic()) > 0 and not self._closing:
            with self._wake:
                if not (self._urgent or self._reads or self._starts):
                    self._wake.wait(left)
                if self._urgent or self._reads or self._starts:
                    break
        return due

    def _stand_still(self, sim: Simulation) -> None:
        if self._was_moving:
            self._was_moving = False
            for observer in self.observers:
                observer.flush(sim)
        delays = [delay for observer in self.observers if (delay := observer.tick(sim, False)) is not None]
        with self._wake:
            if not (self._urgent or self._reads or self._starts or self._closing or self._poked):
                self._wake.wait(min(delays, default=None))
            self._poked = False

    def _look_after_goals(self, sim: Simulation) -> None:
        now = time.monotonic()
        for running in list(self._goals):
            goal = running.goal
            assert goal is not None
            if goal.done:
                self._goals.remove(running)
                self._ended.append(running)
                self._tail_until = sim.time + TAIL_S
            elif running.on_feedback is not None and now - running.last_feedback >= FEEDBACK_PERIOD_S:
                running.last_feedback = now
                self._post(running.on_feedback, dict(goal.feedback))
        if self._waits:
            self._end_waits(sim)
        if self._braking is not None:
            self._look_at_braking(sim)
        if self._ended and not self._settling(sim):
            for observer in self.observers:
                observer.flush(sim)
            for running in self._ended:
                self._deliver(running)
            self._ended.clear()

    def _end_waits(self, sim: Simulation) -> None:
        for entry in list(self._waits):
            until, done = entry
            if sim.time >= until or done.cancelled():
                self._waits.remove(entry)
                self._post(resolve, done, None)

    def _look_at_braking(self, sim: Simulation) -> None:
        assert self._braking is not None
        until, still = self._braking
        at_rest = bool(sim.at_standstill)
        if at_rest or sim.time >= until:
            self._braking = None
            self._post(resolve, still, at_rest)

    def _deliver(self, running: RunningGoal) -> None:
        self._post(resolve, running.done, running.goal)
