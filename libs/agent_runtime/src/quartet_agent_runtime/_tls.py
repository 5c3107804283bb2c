"""TLS contexts for HTTP clients: loading the certificate store costs 30 ms, which plain HTTP need not pay."""

import ssl
from functools import cache


@cache
def tls_context(secure: bool) -> ssl.SSLContext:
    """The context for https URLs, or a bare one that trusts nobody for clients that speak plain HTTP."""
    return ssl.create_default_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def context_for(url: str) -> ssl.SSLContext:
    """The context that a client of `url` needs."""
    return tls_context(url.startswith("https:"))
