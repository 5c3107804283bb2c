"""Heartbeats of one motion for the robot guard: while they arrive, a server supervises what the robot does."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from quartet_robot_link.errors import BridgeUnavailableError
from quartet_robot_link.link import RobotLink
from quartet_safety.guard import DONE, HEARTBEAT_TYPE

log = logging.getLogger(__name__)

SEND_S = 1.0
"""Wall time for one beat: a bridge that reads nothing any more must not delay the end of a motion."""


class Heartbeat:
    """Publishes `source` (`<server>:<motion id>`) every `every_s` of wall time as the frame_id of a Header.

    Before each beat `alive` is asked; once it returns False no further one is sent, and the guard ends the motion
    unless `end` is called first. The guard must know of the motion before it begins: send the goal after `begin`.
    """

    def __init__(self, link: RobotLink, topic: str, source: str, every_s: float, alive: Callable[[], bool]) -> None:
        self.source = source
        self._link, self._topic, self._every_s, self._alive = link, topic, every_s, alive
        self._sent = time.monotonic()
        self._task: asyncio.Task[None] | None = None

    @property
    def age_s(self) -> float:
        """Wall time [s] since the last beat was sent; it also grows while this process is frozen."""
        return time.monotonic() - self._sent

    async def begin(self) -> None:
        """Send the first beat and start the others."""
        await self._publish(self.source)
        self._task = asyncio.create_task(self._beat(), name=f"heartbeat {self.source}")

    async def end(self) -> None:
        """Stop beating and tell the guard that the motion is over."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            await self._publish(self.source + DONE)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._every_s)
            if not self._alive():
                log.warning("%s: no more heartbeats", self.source)
                return
            await self._publish(self.source)

    async def _publish(self, frame_id: str) -> None:
        self._sent = time.monotonic()
        if self._link.connected:
            # Without a connection the guard counts, and a motion of ours has failed as well.
            with contextlib.suppress(BridgeUnavailableError, TimeoutError):
                async with asyncio.timeout(SEND_S):
                    await self._link.publish(self._topic, HEARTBEAT_TYPE, {"frame_id": frame_id})
