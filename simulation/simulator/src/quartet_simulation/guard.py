"""The robot guard: stops the robot past everything else, and holds it stopped until a person resets it.

It sits next to the robot, so that it acts when every server and agent is dead.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any

from quartet_contracts import Latch, LatchFile
from quartet_simulation import metrics
from quartet_simulation.heartbeats import Heartbeats
from quartet_simulation.ros.actions import GoalRejected
from quartet_simulation.ros.graph import Graph, Published
from quartet_simulation.ros.types import Message
from quartet_simulation.ros.world import World

log = logging.getLogger(__name__)

NODE = "/robot_guard"
STATE_TYPE = "diagnostic_msgs/DiagnosticStatus"
HEARTBEAT_TYPE = "std_msgs/Header"
OK, WARN, ERROR = 0, 1, 2
"""Levels of diagnostic_msgs/msg/DiagnosticStatus."""
RUNNING = "running"
LOOK_EVERY_S = 0.03
"""Between two looks at the heartbeats [s of wall time]."""


class RobotGuard:
    """Services /robot_guard/stop and /robot_guard/reset; topics /robot_guard/state (latched) and
    /robot_guard/heartbeat.

    A stop cancels every goal, holds the arm, halts the base, and leaves the gripper's command as it is. So does a
    heartbeat that stays out for longer than `heartbeat_timeout_s` (wall time) while its motion runs, which does not
    latch. With `file` a stop outlasts this process.
    The state's `message` is the reason; its values are `latched`, `standstill` (true, false or unknown),
    `since` (world time) and `last_heartbeat_age_s` (wall time, empty before the first).
    """

    def __init__(
        self, world: World, graph: Graph, heartbeat_timeout_s: float, file: LatchFile | None = None, *, name: str = "1"
    ) -> None:
        """`name` is the robot's in the metrics."""
        self.name = name
        metrics.begin_guard(name)
        self._world, self._graph, self._file = world, graph, file
        self.latched = False
        self.reason = RUNNING
        self.standstill: bool | None = None
        self.since = 0.0
        self.stop_latency_s: float | None = None
        self._lapsed = False
        self._heartbeats = Heartbeats(heartbeat_timeout_s)
        self._halts = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._writing = asyncio.Lock()
        graph.advertise("/robot_guard/state", STATE_TYPE, NODE, latched=True)
        graph.serve("/robot_guard/stop", "std_srvs/Trigger", NODE, self._handle_stop)
        graph.serve("/robot_guard/reset", "std_srvs/Trigger", NODE, self._handle_reset)
        graph.listen("/robot_guard/heartbeat", HEARTBEAT_TYPE, NODE, self._heartbeat)
        self._publish()

    async def start(self) -> None:
        """Take up a stop of an earlier process; from now on heartbeats are watched."""
        kept = Latch() if self._file is None else self._file.read()
        if kept.latched:
            await self.stop(kept.reason)
        self._spawn(self._watch_heartbeats())

    async def close(self) -> None:
        async with self._writing:
            for task in self._tasks:
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def accept(self, _: Message) -> None:
        """For action servers: raises GoalRejected while the robot is stopped."""
        if self.latched:
            raise GoalRejected(f"the robot guard is latched ({self.reason})")

    async def stop(self, reason: str) -> float:
        """Stop the robot and latch. Returns the wall time [s] until the simulation had taken the command."""
        asked = time.monotonic()
        self.latched, self._lapsed = True, False
        metrics.STOPS.labels(self.name).inc()
        await self._halt(reason, latch=True)
        self.stop_latency_s = time.monotonic() - asked
        log.warning("stopped (%s) in %.1f ms", reason, self.stop_latency_s * 1e3)
        self._keep(Latch(latched=True, reason=reason, since=time.time()))
        return self.stop_latency_s

    async def reset(self) -> None:
        """Let goals be accepted again. Nothing that was stopped goes on by itself."""
        if self.latched:
            await self._world.release()
            self.latched = False
            self._say(RUNNING)
            self._keep(Latch())

    async def begin_anew(self) -> None:
        """In a world that was put back nothing runs of what was watched, and nothing holds the robot."""
        self._heartbeats.forget()
        await self.reset()

    def state(self) -> dict[str, object]:
        """What /robot_guard/state says, as JSON values."""
        return {
            "latched": self.latched,
            "reason": self.reason,
            "standstill": self.standstill,
            "since": round(self.since, 3),
            "last_heartbeat_age_s": self._heartbeat_age(),
        }

    async def _halt(self, reason: str, *, latch: bool) -> None:
        """Returns once the simulation has taken the command; whether the robot then rests is told by the state."""
        self._halts += 1
        halted, still = self._world.halt(latch)
        for action in self._graph.actions.values():
            action.cancel_all()
        self._say(reason)
        await halted
        self._spawn(self._watch_braking(still, self._halts))

    async def _watch_braking(self, still: asyncio.Future[bool], halt: int) -> None:
        standstill = await still
        if self._halts == halt and self.reason != RUNNING:
            self.standstill = standstill
            self._publish()

    async def _watch_heartbeats(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            gone = self._heartbeats.lapsed(time.monotonic())
            if gone and not self.latched:
                self._lapsed = True
                metrics.LAPSES.labels(self.name).inc()
                reason = f"heartbeat lapsed: {', '.join(gone)}"
                log.warning("%s; every motion is ended", reason)
                await self._halt(reason, latch=False)

    def _heartbeat(self, published: Published) -> None:
        begins = self._heartbeats.beat(published.message["frame_id"], time.monotonic())
        if begins and self._lapsed:
            # Somebody answers for the robot again.
            self._lapsed = False
            self._say(RUNNING)

    async def _handle_stop(self, _: Message) -> Message:
        latency = await self.stop("stop service called")
        return {"success": True, "message": f"stopped after {latency * 1e3:.1f} ms; latched until reset"}

    async def _handle_reset(self, _: Message) -> Message:
        was = self.latched
        await self.reset()
        return {"success": True, "message": "reset" if was else "was not stopped"}

    def _keep(self, latch: Latch) -> None:
        if self._file is not None:
            self._spawn(self._write(self._file, latch))

    async def _write(self, file: LatchFile, latch: Latch) -> None:
        try:
            async with self._writing:
                await asyncio.to_thread(file.write, latch)
        except OSError as error:
            log.error("the latch file %s cannot be written: %s; a restart would forget the stop", file.path, error)

    def _heartbeat_age(self) -> float | None:
        newest = self._heartbeats.newest
        return None if newest is None else round(time.monotonic() - newest, 3)

    def _say(self, reason: str) -> None:
        self.reason, self.standstill, self.since = reason, None, self._world.time
        self._publish()

    def _publish(self) -> None:
        age = self._heartbeat_age()
        values = {
            "latched": str(self.latched).lower(),
            "standstill": "unknown" if self.standstill is None else str(self.standstill).lower(),
            "since": f"{self.since:.3f}",
            "last_heartbeat_age_s": "" if age is None else f"{age:.3f}",
        }
        self._graph.publish(
            "/robot_guard/state",
            {
                "level": ERROR if self.latched else WARN if self.reason != RUNNING else OK,
                "name": "robot_guard",
                "message": self.reason,
                "hardware_id": "",
                "values": [{"key": key, "value": value} for key, value in values.items()],
            },
        )

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
