"""What a server exchanges with the robot guard: the state that it publishes, and heartbeats of motions."""

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Callable
from typing import Any

from quartet_robot_link.errors import BridgeUnavailableError
from quartet_robot_link.link import Message, QoS, RobotLink
from quartet_safety.guard import DONE, HEARTBEAT_TYPE, MAX_REASON, STATE_TYPE, is_lapse, read_latched

log = logging.getLogger(__name__)

SEND_S = 1.0
"""Wall time for one beat: a bridge that reads nothing any more must not delay the end of a motion."""
STATE_QOS = QoS(durability="transient_local", depth=10)
"""A lapse may be followed at once by the next state, which must not take its place in the queue."""
FRESH_WAIT_S = 0.2
"""Wall time: the guard's state may arrive just after the result of a goal that it ended."""


class GuardState:
    """Follows the guard's diagnostic_msgs/msg/DiagnosticStatus: its value `latched` is true while it stops the robot.

    A robot without a guard never publishes it and counts as not latched. Where there is one, `heartbeat_topic` is
    advertised ahead of the first motion, so that its first heartbeat finds the guard subscribed.
    """

    def __init__(self, link: RobotLink, topic: str, heartbeat_topic: str) -> None:
        self._link, self._heartbeat_topic = link, heartbeat_topic
        self._advertising: asyncio.Task[None] | None = None
        self._latched = False
        self.stops = 0
        """How often the guard was stopped since this process follows it."""
        self.on_stop: list[Callable[[], None]] = []
        """Functions that are called at each stop of the guard."""
        self._changed = asyncio.Event()
        self.reason = ""
        self._lapse = (-math.inf, "")
        """When the newest lapse was reported [monotonic s], and its reason."""
        self._subscription = link.subscribe(topic, STATE_TYPE, qos=STATE_QOS, keep=1, on_message=self._on_state)

    @property
    def latched(self) -> bool:
        """Whether the robot is stopped: nothing moves until a person resets the guard."""
        return self._latched

    def lapse_since(self, began_s: float) -> str | None:
        """Return the guard's reason if it ended the motions for missing heartbeats since `began_s` [monotonic s].

        The guard reports `running` again as soon as a heartbeat arrives, which may be before the end of the goal that
        it canceled. None: no lapse was reported since then, and the newest state is none.
        """
        at, reason = self._lapse
        return reason if at >= began_s or is_lapse(self.reason) else None

    async def settle(self) -> bool:
        """Return whether the robot is stopped, after a short wait for a state that arrives with the end of a goal."""
        if not self._latched:
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), FRESH_WAIT_S)
        return self._latched

    def close(self) -> None:
        """End the subscription."""
        self._subscription.close()
        if self._advertising is not None:
            self._advertising.cancel()

    def _on_state(self, message: Message) -> None:
        values: dict[str, Any] = {item["key"]: item["value"] for item in message["values"]}
        was, self._latched = self._latched, read_latched(values)
        if self._latched and not was:
            self.stops += 1
            for told in self.on_stop:
                told()
        self.reason = str(message.get("message", ""))[:MAX_REASON]
        if is_lapse(self.reason):
            self._lapse = (time.monotonic(), self.reason)
        self._changed.set()
        if self._advertising is None or self._advertising.done():
            # Advertised with each connection: the state is a latched topic, which arrives at the start of each.
            self._advertising = asyncio.create_task(self._advertise())

    async def _advertise(self) -> None:
        with contextlib.suppress(BridgeUnavailableError):
            await self._link.advertise(self._heartbeat_topic, HEARTBEAT_TYPE)


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
        try:
            while True:
                await asyncio.sleep(self._every_s)
                if not self._alive():
                    log.warning("%s: no more heartbeats", self.source)
                    return
                await self._publish(self.source)
        except Exception:
            # The guard ends the motion for want of them.
            log.exception("%s: no more heartbeats, sending them failed", self.source)

    async def _publish(self, frame_id: str) -> None:
        self._sent = time.monotonic()
        if self._link.connected:
            # Without a connection the guard counts, and a motion of ours has failed as well.
            with contextlib.suppress(BridgeUnavailableError, TimeoutError):
                async with asyncio.timeout(SEND_S):
                    await self._link.publish(self._topic, HEARTBEAT_TYPE, {"frame_id": frame_id})
