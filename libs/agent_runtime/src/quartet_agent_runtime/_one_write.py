"""HTTP transport that sends the head and the body of a request at once.

httpcore2 writes one after the other. Sent apart, each costs a system call here, and the server wakes for the head and
then waits for the body. Imported with the first client, since an agent needs httpcore2 for its first request only.
"""

import contextlib
from typing import Any

import httpcore2
import httpx2

MOST_HELD = 65_536
"""Bytes that are held back: a longer request is sent in several parts."""


class OneWriteTransport(httpx2.AsyncHTTPTransport):
    """httpx2's transport with such connections; `more` goes to httpx2.AsyncHTTPTransport."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        # httpcore2 takes a backend for its connections, and httpx2 has no parameter for it.
        pool: Any = self._pool
        pool._network_backend = OneWriteBackend(pool._network_backend)  # noqa: SLF001


class OneWriteBackend(httpcore2.AsyncNetworkBackend):
    """Opens the connections of `inner`, each as an OneWriteStream."""

    def __init__(self, inner: httpcore2.AsyncNetworkBackend) -> None:
        self._inner = inner

    async def connect_tcp(self, *given: Any, **more: Any) -> httpcore2.AsyncNetworkStream:
        """See httpcore2.AsyncNetworkBackend."""
        return OneWriteStream(await self._inner.connect_tcp(*given, **more))

    async def connect_unix_socket(self, *given: Any, **more: Any) -> httpcore2.AsyncNetworkStream:
        """See httpcore2.AsyncNetworkBackend."""
        return OneWriteStream(await self._inner.connect_unix_socket(*given, **more))

    async def sleep(self, seconds: float) -> None:
        """See httpcore2.AsyncNetworkBackend."""
        await self._inner.sleep(seconds)


class OneWriteStream(httpcore2.AsyncNetworkStream):
    """The connection `inner`, to which what was written is sent when its answer is read."""

    def __init__(self, inner: httpcore2.AsyncNetworkStream) -> None:
        self._inner = inner
        self._held = bytearray()
        self._timeout: float | None = None

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as httpcore2 has it
        """Hold `buffer` back, or send all that is held where it is much. Raises WriteError, WriteTimeout."""
        self._held += buffer
        self._timeout = timeout
        if len(self._held) > MOST_HELD:
            await self._send()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - as httpcore2 has it
        """Send what is held and return what comes. Raises WriteTimeout, ReadError, ReadTimeout."""
        if self._held:
            # As httpcore2 does: a server may answer and close before it has read all of a request.
            with contextlib.suppress(httpcore2.WriteError):
                await self._send()
        return await self._inner.read(max_bytes, timeout)

    async def aclose(self) -> None:
        """Close the connection; what is still held is not sent."""
        await self._inner.aclose()

    async def start_tls(self, *given: Any, **more: Any) -> httpcore2.AsyncNetworkStream:
        """See httpcore2.AsyncNetworkStream."""
        return OneWriteStream(await self._inner.start_tls(*given, **more))

    def get_extra_info(self, info: str) -> Any:
        """See httpcore2.AsyncNetworkStream."""
        return self._inner.get_extra_info(info)

    async def _send(self) -> None:
        held, self._held = bytes(self._held), bytearray()
        await self._inner.write(held, self._timeout)
