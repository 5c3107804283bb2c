"""Wake-ups over pub/sub, over one connection per process.

A signal makes the receiver read the keys again. A lost signal costs a poll interval and never a message: what it may
carry is in the keys too.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any

from quartet_bus._keys import Keys
from quartet_bus._redis import exceptions
from quartet_bus._store import Backoff, Store
from quartet_process import BACKGROUND

log = logging.getLogger(__name__)

POLL_S = 2.0
"""Time without a signal after which a waiter reads again."""


class Wakeup:
    """Event that is set when a topic was signalled, or when a signal may have been missed."""

    def __init__(self, heard: Callable[[bytes], bool] | None = None) -> None:
        self._event = asyncio.Event()
        self._heard = heard

    def hear(self, data: bytes) -> None:
        """Hand on what a signal carries; wake the waiter unless somebody needed just that."""
        if not (data and self._heard is not None and self._heard(data)):
            self.wake()

    def wake(self) -> None:
        """Wake the waiter, also one that waits later."""
        self._event.set()

    async def wait(self, timeout_s: float = POLL_S) -> None:
        """Return at the next signal, or after `timeout_s`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._event.wait()
        self._event.clear()


class Notifications:
    """Pub/sub wake-ups of one process, over one connection."""

    def __init__(self, store: Store, keys: Keys) -> None:
        self._store = store
        self._keys = keys
        self._wakeups: dict[str, list[Wakeup]] = {}
        self._connection: Any = None
        self._connected = False
        self._reader: asyncio.Task[None] | None = None

    async def send(self, topic: str) -> None:
        """Wake everyone who listens to `topic`."""
        await self._store.call("PUBLISH", self._keys.signal(topic), "")

    def command(self, topic: str) -> tuple[str, str, str]:
        """Return the command that sends a signal, for a transaction."""
        return ("PUBLISH", self._keys.signal(topic), "")

    @contextlib.asynccontextmanager
    async def listen(self, *topics: str, heard: Callable[[bytes], bool] | None = None) -> AsyncGenerator[Wakeup]:
        """Yield a wake-up for `topics`. It is set once at the start, when the subscription is active.

        `heard` gets what signals carry and tells whether that was all that the signal is about: the keys are read at
        the next poll then. Whoever may write to a channel can send it anything.
        """
        wakeup = Wakeup(heard)
        async with contextlib.AsyncExitStack() as stack:
            for topic in topics:
                await stack.enter_async_context(self._subscribe(wakeup, self._keys.signal(topic)))
            yield wakeup

    @contextlib.asynccontextmanager
    async def _subscribe(self, wakeup: Wakeup, channel: str) -> AsyncGenerator[None]:
        wakeups = self._wakeups.setdefault(channel, [])
        wakeups.append(wakeup)
        if self._reader is None:
            self._reader = BACKGROUND.start("bus-notifications", self._read)
        elif len(wakeups) == 1:
            await self._command("SUBSCRIBE", channel)
        else:
            wakeup.wake()
        try:
            yield
        finally:
            wakeups.remove(wakeup)
            if not wakeups and self._wakeups.get(channel) is wakeups:
                del self._wakeups[channel]
                await self._command("UNSUBSCRIBE", channel)

    async def close(self) -> None:
        """End the subscription."""
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
            self._reader = None

    async def _command(self, *command: str) -> None:
        """Send a command if there is a connection; the reader subscribes to all channels when it connects."""
        if self._connected:
            with contextlib.suppress(exceptions.RedisError, OSError):
                await self._connection.send_command(*command)

    async def _read(self) -> None:
        backoff = Backoff("notifications")
        while True:
            self._connection = self._store.raw_connection()
            try:
                await self._connection.connect()
                self._connected = True
                if self._wakeups:
                    await self._connection.send_command("SUBSCRIBE", *self._wakeups)
                backoff.worked()
                while True:
                    self._handle(await self._next_message())
                    # Whoever was woken goes on first, then this looks for the next one.
                    await asyncio.sleep(0)
            except (exceptions.RedisError, OSError) as error:
                await backoff.failed(self._store.unavailable(error))
            finally:
                self._connected = False
                await self._connection.disconnect(nowait=True)

    async def _next_message(self) -> Any:
        """Return the next message; ping the connection when it is quiet for long."""
        message = await self._connection.read_response(timeout=15.0)
        if message is None:
            await self._connection.send_command("PING")
            message = await self._connection.read_response(timeout=5.0)
            if message is None:
                raise exceptions.ConnectionError("the subscription went silent")
        return message

    def _handle(self, message: Any) -> None:
        if type(message) is bytes:
            return
        if message[0] in {b"message", b"subscribe"}:
            for wakeup in self._wakeups.get(message[1].decode(), ()):
                if message[0] == b"message":
                    wakeup.hear(message[2])
                else:
                    wakeup.wake()
