"""Connections to providers: limits for making one and for an answer, and probes that find a peer that has vanished.

An answer comes as a whole when the model has thought, so that silence alone tells nothing before `retries.timeout_s`.
"""

import socket
from collections.abc import AsyncIterator
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
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            # It could grow to anything when it is unpacked.
            await response.aclose()
            raise httpx.RemoteProtocolError("the answer is compressed, which was not asked for")
        response.stream = _BoundedStream(cast(httpx.AsyncByteStream, response.stream))
        return response


class _BoundedStream(httpx.AsyncByteStream):
    """The body of an answer, up to MOST_BYTES. Raises httpx.RemoteProtocolError for a longer one."""

    def __init__(self, inner: httpx.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_BYTES
        async for chunk in self._inner:
            left -= len(chunk)
            if left < 0:
                raise httpx.RemoteProtocolError(f"the answer is longer than {MOST_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
