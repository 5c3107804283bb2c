"""redis-py, without the SDK of OpenTelemetry that it imports where it is installed, for metrics of its own.

The SDK takes 40 ms and 3 MB of every process. Traces import it when they are on (quartet_process.tracing).
"""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

SDK = "opentelemetry.sdk.metrics"


@contextmanager
def _without_sdk() -> Generator[None]:
    """Let imports of the SDK fail, as where it is not installed, unless it is loaded already."""
    if SDK in sys.modules:
        yield
        return
    cast("dict[str, Any]", sys.modules)[SDK] = None
    try:
        yield
    finally:
        del sys.modules[SDK]


with _without_sdk():
    from redis import exceptions
    from redis.asyncio import BlockingConnectionPool, ConnectionPool, Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import ExponentialBackoff, NoBackoff
    from redis.credentials import CredentialProvider

__all__ = [
    "BlockingConnectionPool",
    "ConnectionPool",
    "CredentialProvider",
    "ExponentialBackoff",
    "NoBackoff",
    "Redis",
    "Retry",
    "exceptions",
]
