"""Connections to providers: a limit for making one, and probes that find a peer that has vanished.

An answer comes as a whole when the model has thought, so that silence alone tells nothing before `retries.timeout_s`.
"""

import socket
from typing import Any

import httpx

CONNECT_S = 5.0
"""Time-out of making a connection [s]; httpx would take that of the whole try."""
IDLE_S = 10
"""Silence after which the operating system asks the peer whether it is there [s]."""
PROBE_EVERY_S = 5
PROBES = 3
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
        return await super().handle_async_request(request)
