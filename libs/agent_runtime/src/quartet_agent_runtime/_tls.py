"""What the HTTP clients share: TLS contexts (loading the certificate store costs 30 ms, which plain HTTP need not pay)
and how long a connection may idle."""

import ssl
from functools import cache

IDLE_S = 2.0
"""Connections are not used again after this. A server that closes one (uvicorn: after 5 s, as long as a client keeps it
by default) just when a request is on its way leaves the effect of that request unknown; a new connection costs little.
"""


@cache
def tls_context(secure: bool) -> ssl.SSLContext:
    """The context for https URLs, or a bare one that trusts nobody for clients that speak plain HTTP."""
    return ssl.create_default_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def context_for(url: str) -> ssl.SSLContext:
    """The context that a client of `url` needs."""
    return tls_context(url.startswith("https:"))
