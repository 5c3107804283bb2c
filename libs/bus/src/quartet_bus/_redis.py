"""redis-py, without its clients of clusters and sentinels, and without OpenTelemetry's SDK, for metrics of its own.

The SDK takes 40 ms and 3 MB of every process. Traces import it when they are on (quartet_process.tracing). The clients
are 1.5 MB.
"""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from quartet_process.packages import defer_package

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


defer_package("redis")
defer_package("redis.asyncio")
with _without_sdk():
    from redis import exceptions
    from redis.asyncio.client import Redis
    from redis.asyncio.connection import BlockingConnectionPool, ConnectionPool
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
