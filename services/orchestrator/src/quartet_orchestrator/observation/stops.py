"""Stops of a robot while a task works with it, also one that was reset at once."""

import asyncio
from collections.abc import Mapping

from quartet_orchestrator.observation.fleet import Fleet

PERIOD_S = 1.0
"""Wall time between two looks at the motion servers."""


class StopMonitor:
    """Compares the stops that the motion servers of `robot` have counted with those at the start of a task.

    A server that does not answer, or that counts none, tells nothing new.
    """

    def __init__(self, fleet: Fleet, robot: str) -> None:
        self._fleet = fleet
        self._robot = robot
        self._stopped_before = False
        self.counts: dict[str, int] = {}
        """Stops at the start, by server."""

    async def begin(self, counts: Mapping[str, int] | None = None) -> None:
        """Take the present as the start; `counts` are those at an earlier start, which another process has noted."""
        found = await self._fleet.stops(self._robot)
        self._stopped_before = any(stopped for _, stopped in found.values())
        self.counts = {name: count for name, (count, _) in found.items()}
        if counts:
            self.counts.update(counts)
            self._stopped_before = False

    async def reason(self) -> str | None:
        """Return why the task must not go on: the robot is or was stopped since the start; None when it was not."""
        found = await self._fleet.stops(self._robot)
        if not self._stopped_before and any(stopped for _, stopped in found.values()):
            return (
                f"Robot '{self._robot}' was stopped while the task ran. Nothing goes on by itself after a stop: look "
                f"at the robot, run quartet reset {self._robot}, and give the task again"
            )
        if any(count > self.counts.setdefault(name, count) for name, (count, _) in found.items()):
            return (
                f"Robot '{self._robot}' was stopped and reset while the task ran. Nothing goes on by itself after a "
                "stop: look at the robot and give the task again"
            )
        return None

    async def wait(self) -> str:
        """Return the reason once there is one; wait for ever otherwise."""
        while True:
            await asyncio.sleep(PERIOD_S)
            if reason := await self.reason():
                return reason
