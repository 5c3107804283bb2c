"""Messages of one topic through the bridge."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from quartet_robot_link.errors import BridgeUnavailable, CallTimeout
from quartet_robot_link.link import Message

if TYPE_CHECKING:
    from quartet_robot_link.bridge import BridgeLink

log = logging.getLogger(__name__)

UNREADABLE = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What a reader runs into in a message that is not of the type of its topic."""


class BridgeSubscription:
    """Messages of one topic; see link.Subscription."""

    def __init__(
        self, bridge: "BridgeLink", operation: Message, keep: int, on_message: Callable[[Message], None] | None
    ) -> None:
        self.operation = operation
        self._bridge = bridge
        self._unread: deque[Message] = deque(maxlen=max(1, keep))
        self._arrived = asyncio.Event()
        self._latest: Message | None = None
        self._on_message = on_message
        self._closed = False

    @property
    def topic(self) -> str:
        return str(self.operation["topic"])

    @property
    def latest(self) -> Message | None:
        return self._latest

    def deliver(self, message: Message) -> None:
        """A message from the robot. A faulty reader must not stop the others."""
        self._latest = message
        self._unread.append(message)
        self._arrived.set()
        if self._on_message is not None:
            try:
                self._on_message(message)
            except UNREADABLE as error:
                log.warning("ignored a message on %s: %s: %s", self.topic, type(error).__name__, str(error)[:200])
            except Exception:
                log.exception("a reader of %s failed", self.topic)

    async def next(self, timeout_s: float) -> Message:
        deadline = time.monotonic() + timeout_s
        while not self._unread:
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), deadline - time.monotonic())
            except TimeoutError:
                if not self._bridge.connected:
                    raise BridgeUnavailable(self._bridge.down()) from None
                raise CallTimeout(f"no message on {self.topic} within {timeout_s:g} s") from None
        return self._unread.popleft()

    async def __aiter__(self) -> AsyncIterator[Message]:
        while not self._closed:
            if not self._unread:
                self._arrived.clear()
                await self._arrived.wait()
            while self._unread:
                yield self._unread.popleft()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._arrived.set()
            self._bridge.drop(self)

    async def __aenter__(self) -> "BridgeSubscription":
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()
