"""Connections to providers: limits for making one and for an answer, and probes that find a peer that has vanished.

An answer comes as a whole when the model has thought, so that silence alone tells nothing before `retries.timeout_s`.
"""

import socket
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import httpx

CONNECT_S = 5.0
"""Time-out of making a connection [s]; httpx would take that of the whole try."""
IDLE_S = 10
"""Silence after which the operating system asks the peer whether it is there [s]."""
PROBE_EVERY_S = 5
PROBES = 3
MOST_BYTES = 16 * 1024 * 1024
"""Of an answer: far more than any model writes, with its thoughts and their signatures."""
UNACKNOWLEDGED_S = 25
"""After this, a connection whose peer has not taken what was sent is broken [s]."""


def socket_options() -> list[tuple[int, int, int]]:
    """Return the options of a connection, those that this operating system has; `man 7 tcp` describes them."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in (
        ("TCP_KEEPIDLE", IDLE_S),
        ("TCP_KEEPINTVL", PROBE_EVERY_S),
        ("TCP_KEEPCNT", PROBES),
        ("TCP_USER_TIMEOUT", 1000 * UNACKNOWLEDGED_S),
    ):
        if (option := getattr(socket, name, None)) is not None:
            options.append((socket.IPPROTO_TCP, option, value))
    return options


class ProviderTransport(httpx.AsyncHTTPTransport):
    """Transport of httpx with these limits; takes the arguments of httpx.AsyncHTTPTransport."""

    def __init__(self, **more: Any) -> None:
        super().__init__(socket_options=socket_options(), **more)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """See httpx.AsyncBaseTransport."""
        timeout = dict(request.extensions.get("timeout") or {})
        allowed = timeout.get("connect")
        timeout["connect"] = CONNECT_S if allowed is None else min(allowed, CONNECT_S)
        request.extensions = {**request.extensions, "timeout": timeout}
        request.headers["Accept-Encoding"] = "identity"
        response = await super().handle_async_request(request)
        # Some proxy in front of a provider compresses though it was asked not to. httpx would unpack without a limit.
        encoding = response.headers.pop("content-encoding", "identity").lower()
        if encoding not in _ENCODINGS:
            await response.aclose()
            raise httpx.RemoteProtocolError(f"the answer is compressed ({encoding}), which was not asked for")
        unpacked = encoding != "identity"
        if unpacked:
            response.headers.pop("content-length", None)
        response.stream = _BoundedStream(cast(httpx.AsyncByteStream, response.stream), unpacked=unpacked)
        return response


_ENCODINGS = frozenset({"identity", "gzip", "x-gzip", "deflate"})
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_PART = 65_536
"""Bytes that are unpacked at once."""


class _BoundedStream(httpx.AsyncByteStream):
    """The body of an answer, unpacked where it is compressed, up to MOST_BYTES.

    Raises httpx.RemoteProtocolError for a longer one, and for one that cannot be unpacked.
    """

    def __init__(self, inner: httpx.AsyncByteStream, *, unpacked: bool) -> None:
        self._inner, self._unpacked = inner, unpacked

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_BYTES
        unpacking = zlib.decompressobj(_GZIP_OR_ZLIB) if self._unpacked else None
        async for chunk in self._inner:
            for part in (chunk,) if unpacking is None else _parts(unpacking, chunk):
                left -= len(part)
                if left < 0:
                    raise httpx.RemoteProtocolError(f"the answer is longer than {MOST_BYTES} bytes")
                yield part
        if unpacking is not None and not unpacking.eof:
            raise httpx.RemoteProtocolError("the answer is compressed and breaks off")

    async def aclose(self) -> None:
        await self._inner.aclose()


def _parts(unpacking: "zlib._Decompress", packed: bytes) -> Iterator[bytes]:
    """Yield what a chunk unpacks to, a little at once. Raises httpx.RemoteProtocolError."""
    while packed:
        try:
            yield unpacking.decompress(packed, _PART)
        except zlib.error as error:
            raise httpx.RemoteProtocolError(f"the answer is compressed and cannot be unpacked: {error}") from error
        packed = unpacking.unconsumed_tail
