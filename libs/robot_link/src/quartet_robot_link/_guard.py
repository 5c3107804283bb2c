"""The robot guard's state as a server sees it: its latched topic."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from quartet_robot_link.errors import BridgeUnavailableError
from quartet_robot_link.link import LATCHED, Message, RobotLink
from quartet_safety.guard import HEARTBEAT_TYPE, MAX_REASON, STATE_TYPE, is_lapse, read_latched

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
        self._subscription = link.subscribe(topic, STATE_TYPE, qos=LATCHED, keep=1, on_message=self._on_state)

    @property
    def latched(self) -> bool:
        """Whether the robot is stopped: nothing moves until a person resets the guard."""
        return self._latched

    @property
    def lapsed(self) -> bool:
        """Whether the guard last reported missing heartbeats, for which it ended every motion."""
        return is_lapse(self.reason)

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
        self._changed.set()
        if self._advertising is None or self._advertising.done():
            # Forgotten with each connection: the state is a latched topic and arrives again at its start.
            self._advertising = asyncio.create_task(self._advertise())

    async def _advertise(self) -> None:
        with contextlib.suppress(BridgeUnavailableError):
            await self._link.advertise(self._heartbeat_topic, HEARTBEAT_TYPE)
