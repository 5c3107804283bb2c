"""Wake-ups over pub/sub: one connection per process, however many things are waited for.

A signal says "look again" and carries nothing; what counts lies in keys. So a lost signal costs a poll interval and
never a message.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from typing import Any

from redis import exceptions

from quartet_bus._keys import Keys
from quartet_bus._store import Patience, Store

log = logging.getLogger(__name__)

POLL_S = 2.0
"""A waiter looks again after so long without a signal."""


class Bell:
    """Rings when its topic was signalled, or when a signal may have been missed."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        self._event.set()

    async def wait(self, timeout_s: float = POLL_S) -> None:
        """Returns at the next ring or after `timeout_s`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._event.wait()
        self._event.clear()


class Signals:
    def __init__(self, store: Store, keys: Keys) -> None:
        self._store = store
        self._keys = keys
        self._bells: dict[str, list[Bell]] = {}
        self._connection: Any = None
        self._connected = False
        self._reader: asyncio.Task[None] | None = None

    async def send(self, topic: str) -> None:
        """Wake everyone who listens to `topic`."""
        await self._store.call("PUBLISH", self._keys.signal(topic), "")

    def command(self, topic: str) -> tuple[str, str, str]:
        """The same as a command for a transaction."""
        return ("PUBLISH", self._keys.signal(topic), "")

    @contextlib.asynccontextmanager
    async def listen(self, *topics: str) -> AsyncGenerator[Bell]:
        """A bell for `topics`. It rings once at the start, when the subscription stands."""
        bell = Bell()
        async with contextlib.AsyncExitStack() as stack:
            for topic in topics:
                await stack.enter_async_context(self._hang(bell, self._keys.signal(topic)))
            yield bell

    @contextlib.asynccontextmanager
    async def _hang(self, bell: Bell, channel: str) -> AsyncGenerator[None]:
        bells = self._bells.setdefault(channel, [])
        bells.append(bell)
        if self._reader is None:
            self._reader = asyncio.create_task(self._read(), name="bus-signals")
        elif len(bells) == 1:
            await self._command("SUBSCRIBE", channel)
        else:
            bell.ring()
        try:
            yield
        finally:
            bells.remove(bell)
            if not bells and self._bells.get(channel) is bells:
                del self._bells[channel]
                await self._command("UNSUBSCRIBE", channel)

    async def close(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
            self._reader = None

    async def _command(self, *command: str) -> None:
        """Sent if there is a connection; otherwise the reader subscribes to everything when it connects."""
        if self._connected:
            with contextlib.suppress(exceptions.RedisError, OSError):
                await self._connection.send_command(*command)

    async def _read(self) -> None:
        patience = Patience("signals")
        while True:
            self._connection = self._store.raw_connection()
            try:
                await self._connection.connect()
                self._connected = True
                if self._bells:
                    await self._connection.send_command("SUBSCRIBE", *self._bells)
                patience.worked()
                while True:
                    self._handle(await self._next_message())
            except (exceptions.RedisError, OSError) as error:
                await patience.failed(self._store.unavailable(error))
            finally:
                self._connected = False
                await self._connection.disconnect(nowait=True)

    async def _next_message(self) -> Any:
        """The next message; asks for a sign of life when it is quiet for long."""
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
            for bell in self._bells.get(message[1].decode(), ()):
                bell.ring()
