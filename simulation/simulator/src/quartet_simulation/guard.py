"""The robot guard: stops the robot past everything else and holds it stopped until a person resets it.

It sits next to the robot, so that it acts when every server and agent is dead.
"""

from __future__ import annotations

import asyncio
import logging
import time

from quartet_simulation.ros.actions import GoalRejected
from quartet_simulation.ros.graph import Graph, Published
from quartet_simulation.ros.types import Message
from quartet_simulation.ros.world import World

log = logging.getLogger(__name__)

NODE = "/robot_guard"
STATE_TYPE = "diagnostic_msgs/DiagnosticStatus"
HEARTBEAT_TYPE = "std_msgs/Header"
OK, ERROR = 0, 2
"""Levels of diagnostic_msgs/msg/DiagnosticStatus."""


class RobotGuard:
    """Services /robot_guard/stop and /robot_guard/reset; latched topic /robot_guard/state.

    A stop cancels every goal, holds the arm, halts the base, and leaves the gripper's command as it is.
    The state's `message` is the reason; its values are `latched`, `standstill` (true, false or unknown),
    `since` (world time) and `last_heartbeat_age_s` (wall time, empty before the first).
    """

    def __init__(self, world: World, graph: Graph) -> None:
        self._world, self._graph = world, graph
        self.latched = False
        self.reason = "running"
        self.standstill: bool | None = None
        self.since = 0.0
        self.stop_latency_s: float | None = None
        self._heartbeat_at: float | None = None
        self._braking: asyncio.Task[None] | None = None
        graph.advertise("/robot_guard/state", STATE_TYPE, NODE, latched=True)
        graph.serve("/robot_guard/stop", "std_srvs/Trigger", NODE, self._handle_stop)
        graph.serve("/robot_guard/reset", "std_srvs/Trigger", NODE, self._handle_reset)
        graph.listen("/robot_guard/heartbeat", HEARTBEAT_TYPE, NODE, self._heartbeat)
        self._publish()

    def accept(self, _: Message) -> None:
        """For action servers: raises GoalRejected while the robot is stopped."""
        if self.latched:
            raise GoalRejected(f"the robot guard is latched ({self.reason})")

    async def stop(self, reason: str) -> float:
        """Stop the robot and latch. Returns the wall time [s] until the simulation had taken the command."""
        asked = time.monotonic()
        self.latched, self.reason, self.standstill = True, reason, None
        self.since = self._world.time
        halted, still = self._world.halt()
        ended = [handle for action in self._graph.actions.values() for handle in action.cancel_all()]
        self._publish()
        await halted
        self.stop_latency_s = time.monotonic() - asked
        log.warning("stopped (%s) in %.1f ms, %d goals ended", reason, self.stop_latency_s * 1e3, len(ended))
        self._braking = asyncio.create_task(self._watch_braking(still))
        return self.stop_latency_s

    async def reset(self) -> None:
        """Let goals be accepted again. Nothing that was stopped goes on by itself."""
        if self.latched:
            await self._world.release()
            self.latched, self.reason, self.standstill = False, "running", None
            self.since = self._world.time
            self._publish()

    async def _watch_braking(self, still: asyncio.Future[bool]) -> None:
        standstill = await still
        if self.latched:
            self.standstill = standstill
            self._publish()

    async def _handle_stop(self, _: Message) -> Message:
        latency = await self.stop("stop service called")
        return {"success": True, "message": f"stopped after {latency * 1e3:.1f} ms; latched until reset"}

    async def _handle_reset(self, _: Message) -> Message:
        was = self.latched
        await self.reset()
        return {"success": True, "message": "reset" if was else "was not stopped"}

    def _heartbeat(self, _: Published) -> None:
        self._heartbeat_at = time.monotonic()

    def _publish(self) -> None:
        age = "" if self._heartbeat_at is None else f"{time.monotonic() - self._heartbeat_at:.3f}"
        standstill = "unknown" if self.standstill is None else str(self.standstill).lower()
        values = {
            "latched": str(self.latched).lower(),
            "standstill": standstill,
            "since": f"{self.since:.3f}",
            "last_heartbeat_age_s": age,
        }
        self._graph.publish(
            "/robot_guard/state",
            {
                "level": ERROR if self.latched else OK,
                "name": "robot_guard",
                "message": self.reason,
                "hardware_id": "",
                "values": [{"key": key, "value": value} for key, value in values.items()],
            },
        )
