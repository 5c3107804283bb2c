"""HTTP clients of an agent: to the gateway, to MCP servers, and for heartbeats."""

import re
import ssl
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

# httpx2 is what the mcp client stands on; using it everywhere keeps a second HTTP stack out of the process.
import httpx2

from quartet_contracts import KEEPALIVE_HEADER, OUT_OF_TIME
from quartet_process.bounded_answers import CONTROL_BYTES, BoundedTransport

CONNECT_TIMEOUT_S = 5.0
CLOCK_PATIENCE_S = 20.0
"""How long a server or gateway that takes a new grant for expired is asked again at most: a clock that was set wrongly,
such as after a machine slept, is put right within seconds or not at all."""
IDLE_S = 2.0
"""Connections are not used again after this. A server that closes one (uvicorn: after 5 s, as long as a client keeps it
by default) just when a request is on its way leaves the effect of that request unknown; a new connection costs little.
"""
KEEPALIVES = 2.5
"""Silence, in keepalives of a server, after which it is lost."""
KEEPALIVE = re.compile(r"\d{1,4}(\.\d{1,3})?")
"""A server's keepalive [s]."""


def open_client(
    url: str,
    timeout: httpx2.Timeout | None = None,
    *,
    most_bytes: int = CONTROL_BYTES,
    event_streams: bool = False,
    **more: Any,
) -> httpx2.AsyncClient:
    """Open a client for `url`; without `timeout` only connecting has a limit, `more` goes to httpx2.AsyncClient.

    `most_bytes` and `event_streams` are those of BoundedTransport.
    """
    from quartet_agent_runtime._one_write import OneWriteTransport

    inner = OneWriteTransport(
        limits=httpx2.Limits(keepalive_expiry=IDLE_S), verify=tls_context(url.startswith("https:")), trust_env=False
    )
    return httpx2.AsyncClient(
        timeout=timeout or httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S),
        transport=BoundedTransport(inner, most_bytes, event_streams=event_streams),
        trust_env=False,
        **more,
    )


def note_keepalive(client: httpx2.AsyncClient, headers: Mapping[str, str]) -> None:
    """Let `client` count a silent connection as broken, if the `headers` of its server tell how often a byte comes.

    A peer that vanishes closes nothing; a third-party server may be silent for as long as it works.
    """
    keepalive = headers.get(KEEPALIVE_HEADER, "")
    if KEEPALIVE.fullmatch(keepalive):
        silence_s = KEEPALIVES * float(keepalive)
        client.timeout = httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S, read=silence_s, write=silence_s)


def is_out_of_time(response: httpx2.Response) -> bool:
    """Return whether a grant was refused for its time: then the clocks differ, not the keys.

    A gateway says so in OpenAI's error, the control endpoint of a server in its problem details.
    """
    if response.status_code != HTTPStatus.UNAUTHORIZED:
        return False
    try:
        said = response.json()
        return said.get("code", said.get("error", {}).get("code")) == OUT_OF_TIME
    except (ValueError, AttributeError):
        return False


@cache
def tls_context(secure: bool) -> ssl.SSLContext:
    """Return the context for https, or an empty one that trusts nobody for plain HTTP.

    Loading the certificate store takes 30 ms, which plain HTTP need not pay.
    """
    return ssl.create_default_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
