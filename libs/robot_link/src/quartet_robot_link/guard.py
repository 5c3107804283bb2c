"""The robot guard as a server sees it: its latched state topic."""

import asyncio
import contextlib
from typing import Any

from quartet_robot_link.errors import BridgeUnavailable
from quartet_robot_link.heartbeat import HEADER
from quartet_robot_link.link import LATCHED, Message, RobotLink

LAPSED = "heartbeat lapsed"
"""How the guard's reason begins after a lapse."""
MAX_REASON = 500
FRESH_WAIT_S = 0.2
"""The guard's state may arrive just after the result of a goal that it ended."""


class GuardState:
    """Follows the guard's diagnostic_msgs/msg/DiagnosticStatus, whose value `latched` is true while it is stopped.

    A robot without a guard never publishes it and counts as not latched. Where there is one, `heartbeat_topic` is
    advertised ahead of the first motion, so that its first heartbeat finds the guard subscribed.
    """

    def __init__(self, link: RobotLink, topic: str, heartbeat_topic: str) -> None:
        self._link, self._heartbeat_topic = link, heartbeat_topic
        self._advertising: asyncio.Task[None] | None = None
        self._latched = False
        self._changed = asyncio.Event()
        self.reason = ""
        self._subscription = link.subscribe(
            topic, "diagnostic_msgs/msg/DiagnosticStatus", qos=LATCHED, keep=1, on_message=self._on_state
        )

    @property
    def latched(self) -> bool:
        """True while the guard is stopped: nothing moves until a person resets it."""
        return self._latched

    @property
    def lapsed(self) -> bool:
        """True when the guard's last word is that a heartbeat stayed out, whereupon it ended every motion."""
        return self.reason.startswith(LAPSED)

    async def settle(self) -> bool:
        """Whether the guard is stopped, after a short wait for news that travels with the end of a goal."""
        if not self._latched:
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), FRESH_WAIT_S)
        return self._latched

    def close(self) -> None:
        self._subscription.close()
        if self._advertising is not None:
            self._advertising.cancel()

    def _on_state(self, message: Message) -> None:
        values: dict[str, Any] = {item["key"]: item["value"] for item in message["values"]}
        latched = str(values["latched"]).lower()
        if latched not in {"true", "false"}:
            # Nothing that cannot be read may tell that a stopped robot moves again.
            raise ValueError(f"latched is '{latched[:40]}'; the guard says true or false")
        self._latched = latched == "true"
        self.reason = str(message.get("message", ""))[:MAX_REASON]
        self._changed.set()
        if self._advertising is None or self._advertising.done():
            # With each connection anew: the state is latched, so that it comes at its start.
            self._advertising = asyncio.create_task(self._advertise())

    async def _advertise(self) -> None:
        with contextlib.suppress(BridgeUnavailable):
            await self._link.advertise(self._heartbeat_topic, HEADER)
