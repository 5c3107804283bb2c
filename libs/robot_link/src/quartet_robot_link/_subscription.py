"""Messages of one topic through the bridge."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

from quartet_process import tracing
from quartet_robot_link.errors import BridgeUnavailableError, CallTimeoutError, RosError
from quartet_robot_link.link import Message

log = logging.getLogger(__name__)

UNREADABLE = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError)
"""Errors of a reader for a message that is not of the type of its topic."""


class BridgeSubscription:
    """Messages of one topic through the bridge: a `Subscription`.

    operation: the subscribe operation. keep: unread messages kept, the oldest are dropped. on_close: ends it at the
    bridge. down: returns the error for a reader while there is no connection. type_there: asks the robot for the type
    of the topic, None where that is not known.
    """

    def __init__(
        self,
        operation: Message,
        keep: int,
        on_message: Callable[[Message], None] | None,
        *,
        on_close: Callable[["BridgeSubscription"], None],
        down: Callable[[], BridgeUnavailableError | None],
        type_there: Callable[[str], Awaitable[str | None]],
    ) -> None:
        self.operation = operation
        self._on_close, self._down, self._type_there = on_close, down, type_there
        self._unread: deque[Message] = deque(maxlen=max(1, keep))
        self._arrived = asyncio.Event()
        self._latest: Message | None = None
        self._on_message = on_message
        self._failed: RosError | None = None
        """Why the newest message cannot be read, until a reader was told."""
        self._closed = False

    @property
    def topic(self) -> str:
        """Name of the topic."""
        return str(self.operation["topic"])

    @property
    def latest(self) -> Message | None:
        """The newest message, None before the first."""
        return self._latest

    def deliver(self, message: Message) -> None:
        """Take a message from the robot; an error of one reader does not stop the others."""
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

    def fail(self, error: RosError) -> None:
        """Let the next reader raise `error`, if no message is unread."""
        self._failed = error
        self._arrived.set()

    async def next(self, timeout_s: float) -> Message:
        """Return the oldest unread message.

        Raises CallTimeoutError, BridgeUnavailableError, and MessageTooLargeError for one that is not read.
        """
        if self._unread:
            return self._unread.popleft()
        with tracing.step(f"rosbridge {self.topic}"):
            return await self._wait(timeout_s)

    async def _wait(self, timeout_s: float) -> Message:
        deadline = time.monotonic() + timeout_s
        while not self._unread:
            if self._failed is not None:
                error, self._failed = self._failed, None
                raise error
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), deadline - time.monotonic())
            except TimeoutError:
                if (down := self._down()) is not None:
                    raise down from None
                raise CallTimeoutError(
                    f"no message on {self.topic} within {timeout_s:g} s{await self._why()}"
                ) from None
        return self._unread.popleft()

    async def _why(self) -> str:
        """Return what is wrong with the topic's type: rosbridge tells nothing of a subscription that it refuses."""
        if self._latest is not None:
            return ""
        wanted, there = self.operation["type"], await self._type_there(self.topic)
        if there is None or there.replace("/msg/", "/") == wanted.replace("/msg/", "/"):
            return ""
        return f": it carries {there}, not {wanted}; check the topic's name in robot.yaml and its publishers"

    async def __aiter__(self) -> AsyncIterator[Message]:
        while not self._closed:
            if not self._unread:
                self._arrived.clear()
                await self._arrived.wait()
            while self._unread:
                yield self._unread.popleft()

    def close(self) -> None:
        """Unsubscribe; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._arrived.set()
            self._on_close(self)

    async def __aenter__(self) -> "BridgeSubscription":
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()
