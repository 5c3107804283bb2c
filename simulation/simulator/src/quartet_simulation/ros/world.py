"""One robot in the simulated world: takes commands from the event loop and follows the goals that run.

Fast mode: world time advances only while a goal, a timed wait, a braking robot or a fresh /cmd_vel needs it, plus a
short tail after the last goal so that the world settles; then it stands still. With `realtime_thinking` it advances no
faster than the wall clock while one robot moves and another one thinks. Real-time mode: it follows the wall clock.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from quartet_simulation.arm_simulation import ArmSimulation
from quartet_simulation.errors import StoppedError
from quartet_simulation.goal import Goal
from quartet_simulation.ros.engine import Command, Engine
from quartet_simulation.ros.running import Observer, RunningGoal, cancel, fail, resolve

T = TypeVar("T")
RobotT = TypeVar("RobotT", bound=ArmSimulation, covariant=True)
"""What the world is made of: a Simulation for the nodes of a base, any robot with an arm for the others."""

TAIL_S = 0.3
"""World time after the last goal in which objects settle."""
VELOCITY_TIMEOUT_S = 0.5
"""World time after which a velocity command is stale; the value of ros2_controllers' diff_drive_controller."""
BRAKING_LIMIT_S = 3.0
"""World time that a robot gets to come to rest after a halt or a stale velocity."""
FEEDBACK_PERIOD_S = 0.1
"""Wall time between two feedback messages of a goal."""


class World(Generic[RobotT]):
    """One robot's side of the world.

    Runs `make()` in a thread of its own, or joins the thread of `engine` for its robot number `place`. Methods are for
    the event loop, except where they say otherwise and under "the thread".
    """

    def __init__(
        self,
        make: Callable[[], RobotT],
        realtime: bool = False,
        *,
        engine: Engine | None = None,
        place: int = 0,
    ) -> None:
        self._engine = engine or Engine(make, realtime)
        self._engine.worlds.append(self)
        self._place = place
        self.realtime = self._engine.realtime
        self.observers: list[Observer] = []
        self.navigation_active = True
        """Whether Nav2's nodes are active; they are at the start of an episode."""
        self.is_stopped: Callable[[], bool] = lambda: False
        """Tells whether the guard has stopped the robot: then no motion starts. Called in the simulation's thread."""
        self._goals: list[RunningGoal] = []
        self._ended: list[RunningGoal] = []
        self._waits: list[tuple[float, asyncio.Future[None]]] = []
        self._braking_until = 0.0
        self._tail_until = 0.0
        self._rested_at = -math.inf
        self._velocity_until = -BRAKING_LIMIT_S
        self._was_moving = False

    # --- life ---------------------------------------------------------------------------------------
    async def start(self) -> None:
        """Build the simulation; returns when it is ready. Raises what its constructor raises."""
        await self._engine.start()

    async def close(self) -> None:
        """End the thread and free the renderers."""
        await self._engine.close()

    @property
    def failed(self) -> asyncio.Future[None]:
        """Future that ends with the error of the thread when it fails."""
        return self._engine.failed

    @property
    def time(self) -> float:
        """World time [s]. For any thread."""
        return self._engine.time

    @property
    def revision(self) -> int:
        """Number of changes to the world outside of physics."""
        return self._engine.revision

    # --- commands -----------------------------------------------------------------------------------
    def call(self, function: Callable[[RobotT], T], urgent: bool = False) -> asyncio.Future[T]:
        """Run `function(sim)` in the simulation's thread, between two chunks."""
        done: asyncio.Future[T] = self._engine.loop.create_future()

        def run(sim: Any) -> None:
            try:
                value = function(sim)
            except Exception as error:
                self._engine.post(fail, done, error)
            else:
                self._engine.post(resolve, done, value)

        self._push("urgent" if urgent else "reads", run)
        return done

    def run_goal(
        self,
        start: Callable[[RobotT], Goal],
        on_feedback: Callable[[dict[str, Any]], None] | None = None,
    ) -> RunningGoal:
        """Start a goal. `done` fails with StoppedError while the robot is stopped, or with what `start` raises."""
        running = RunningGoal(self._engine.loop.create_future(), on_feedback=on_feedback)

        def run(sim: Any) -> None:
            try:
                if self.is_stopped():
                    raise StoppedError("the robot guard holds the robot; after a stop a person has to reset it")
                running.goal = start(sim)
            except Exception as error:
                self._engine.post(fail, running.done, error)
                return
            if running.cancelled:
                running.goal.cancel()
            self._goals.append(running)

        self._push("starts", run)
        return running

    def wait(self, seconds: float) -> asyncio.Future[None]:
        """Wait in world time [s]; ends early when cancelled or when the guard stops the robot."""
        done: asyncio.Future[None] = self._engine.loop.create_future()

        def run(sim: ArmSimulation) -> None:
            if self.is_stopped():
                self._engine.post(cancel, done)
            else:
                self._waits.append((sim.time + seconds, done))

        self._push("starts", run)
        return done

    def command_velocity(self, vx: float, vy: float, wz: float) -> None:
        """Drive by velocity in base_footprint; ignored while the robot is stopped."""

        def run(sim: ArmSimulation) -> None:
            if not self.is_stopped():
                sim.command_velocity(vx, vy, wz)
                self._velocity_until = sim.time + VELOCITY_TIMEOUT_S

        self._push("reads", run)

    def hold_arm(self) -> None:
        """Hold the arm where it is, before everything else that waits. For any thread."""

        def run(sim: ArmSimulation) -> None:
            sim.hold_arm()
            self._braking_until = sim.time + BRAKING_LIMIT_S

        self._push("urgent", run)

    def halt_base(self) -> None:
        """Brake and end timed waits, before everything else that waits. For any thread."""

        def run(sim: ArmSimulation) -> None:
            sim.halt_base()
            self._velocity_until = -BRAKING_LIMIT_S
            for _, done in self._waits:
                self._engine.post(cancel, done)
            self._waits.clear()

        self._push("urgent", run)

    def taken(self, within_s: float) -> bool:
        """Wait until the simulation has taken the commands to hold and to halt. For any thread but the event loop's."""
        reached = threading.Event()
        self._push("urgent", lambda _: reached.set())
        return reached.wait(within_s)

    def reset(self, world: str | None, seed: int, scenario: str | None) -> asyncio.Future[None]:
        """A new episode for all robots: running goals end as aborted, world time starts at 0."""

        def run(sim: ArmSimulation) -> None:
            running = [(one, one.give_up()) for one in self._engine.worlds]
            sim.reset(world, seed, scenario)
            for one, goals in running:
                one.begin_anew(sim, goals)
            self._engine.time = sim.time
            self._engine.revision += 1

        return self.call(run)

    def change(self, function: Callable[[RobotT], None]) -> asyncio.Future[None]:
        """Change the world outside of physics (scenario set-up); it settles before anything else moves."""

        def run(sim: Any) -> None:
            function(sim)
            self._engine.revision += 1
            self._tail_until = sim.time + TAIL_S

        return self.call(run)

    def poke(self) -> None:
        """Call the observers at once, also while world time stands still."""
        self._engine.poke()

    def _push(self, queue: str, command: Command) -> None:
        self._engine.push(queue, lambda host: command(host.robots[self._place]))

    # --- the thread -----------------------------------------------------------------------------------
    @property
    def working(self) -> bool:
        """Whether a goal or a timed wait runs."""
        return bool(self._goals or self._waits)

    @property
    def tail_until(self) -> float:
        """World time until which objects settle after the last goal."""
        return self._tail_until

    @property
    def rested_at(self) -> float:
        """When the last goal or timed wait ended, on the monotonic clock [s]."""
        return self._rested_at

    def needs_time(self, sim: ArmSimulation) -> bool:
        """Return whether world time has to advance for this robot."""
        return (
            bool(self._goals or self._ended or self._waits)
            or sim.time < max(self._tail_until, self._velocity_until)
            or (sim.time < self._braking_until and not sim.at_standstill)
            or self._coasting(sim)
        )

    def _coasting(self, sim: ArmSimulation) -> bool:
        # A stale velocity command ends in standstill, not in a world frozen in motion.
        return sim.time < self._velocity_until + BRAKING_LIMIT_S and not sim.at_standstill

    def moved(self, sim: ArmSimulation, settled: Callable[[], bool]) -> None:
        """Follow goals after world time has advanced; results are returned only if `settled`."""
        self._was_moving = True
        self._look_after_goals(sim)
        if self._ended and settled():
            for observer in self.observers:
                observer.flush(sim)
            for running in self._ended:
                self._deliver(running)
            self._ended.clear()
        for observer in self.observers:
            observer.tick(sim, True)

    def stands(self, sim: ArmSimulation) -> list[float]:
        """Call the observers while world time stands still; return after how many wall seconds to call them again."""
        if self._was_moving:
            self._was_moving = False
            for observer in self.observers:
                observer.flush(sim)
        return [delay for observer in self.observers if (delay := observer.tick(sim, False)) is not None]

    def give_up(self) -> list[RunningGoal]:
        """Remove and return the goals that a new episode ends."""
        goals, self._goals, self._ended = [*self._goals, *self._ended], [], []
        return goals

    def begin_anew(self, sim: ArmSimulation, goals: list[RunningGoal]) -> None:
        """Begin a new episode; `goals` ran in the last one."""
        for running in goals:
            if running.goal is not None:
                running.goal.finish("ABORTED", sim.time, 0, "the world was reset")
            self._deliver(running)
        for _, done in self._waits:
            self._engine.post(cancel, done)
        self._waits.clear()
        self._tail_until, self._braking_until, self._velocity_until = 0.0, 0.0, -BRAKING_LIMIT_S
        self._rested_at = -math.inf
        self.navigation_active = True

    def _look_after_goals(self, sim: ArmSimulation) -> None:
        now = time.monotonic()
        for running in list(self._goals):
            goal = running.goal
            assert goal is not None
            if goal.done:
                self._goals.remove(running)
                self._ended.append(running)
                self._tail_until, self._rested_at = sim.time + TAIL_S, now
            elif running.on_feedback is not None and now - running.last_feedback >= FEEDBACK_PERIOD_S:
                running.last_feedback = now
                self._engine.post(running.on_feedback, dict(goal.feedback))
        if self._waits:
            self._end_waits(sim)

    def _end_waits(self, sim: ArmSimulation) -> None:
        for entry in list(self._waits):
            until, done = entry
            if sim.time >= until or done.cancelled():
                self._waits.remove(entry)
                self._rested_at = time.monotonic()
                self._engine.post(resolve, done, None)

    def _deliver(self, running: RunningGoal) -> None:
        self._engine.post(resolve, running.done, running.goal)
