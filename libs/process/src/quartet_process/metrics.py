"""GET /metrics of a process, and the metrics that every process has."""

import asyncio
import functools
import importlib.metadata
import platform
import time

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE

from quartet_process._secrets import Secret, bearer_token

BUILD = "quartet_build_info"
LAG = "quartet_event_loop_lag_seconds"
PROCESS, VERSION, PYTHON = "process", "version", "python"

REGISTRY = CollectorRegistry()
"""Registry of the metrics of which a process has one set."""

TICK_S = 0.5
IDLE_S = 60.0
"""Time without a scrape after which the lag is no longer measured [s]."""
OTHER = "other"


class Exposition:
    """Answers GET /metrics of `process` with REGISTRY, further registries and the basics of every process."""

    def __init__(
        self,
        process: str,
        *registries: CollectorRegistry,
        token: Secret | None = None,
    ) -> None:
        """`token`: the bearer token that a request needs; None: none."""
        self._process, self._token = process, token
        self._registries = dict.fromkeys((REGISTRY, *registries))

    def accepts(self, authorization: str | None) -> bool:
        """Return whether `answer` will give the metrics, for callers that have to sample something first."""
        return self._token is None or self._token.accepts(bearer_token(authorization))

    def answer(self, authorization: str | None) -> tuple[int, str, bytes]:
        """Return status, content type and body; must be called in the event loop, whose lag is a metric."""
        if not self.accepts(authorization):
            text = "send 'Authorization: Bearer <token>' with the token of QUARTET_METRICS_TOKEN\n"
            return 401, "text/plain; charset=utf-8", text.encode()
        basics = _basics()
        basics.seen(self._process)
        body = b"".join(generate_latest(registry) for registry in (*self._registries, basics.registry))
        return 200, CONTENT_TYPE, body


class LabelValues:
    """Bounds the values of a label: the first `limit` values pass, later ones become "other"."""

    def __init__(self, limit: int = 64) -> None:
        self._limit = limit
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        """Return `value`, or "other" beyond the limit."""
        if value not in self._known:
            if len(self._known) >= self._limit or len(value) > 100:
                return OTHER
            self._known.add(value)
        return value


class _Basics:
    def __init__(self) -> None:
        # Prometheus has no use for them, and they are a third of all series.
        disable_created_metrics()
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._build = Gauge(BUILD, "Always 1", (PROCESS, VERSION, PYTHON), registry=self.registry)
        self._lag_gauge = Gauge(LAG, "Longest delay of the event loop since the last look [s]", registry=self.registry)
        self._version = importlib.metadata.version("quartet-process")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._worst = 0.0
        self._due = 0.0
        self._asked = 0.0

    def seen(self, process: str) -> None:
        """Update the metrics for a scrape, and measure the event loop's lag from now on."""
        self._build.labels(process, self._version, platform.python_version()).set(1)
        self._asked = time.monotonic()
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._worst = loop, 0.0
            self._wait(loop)
        # A tick that is overdue now is as late as it is.
        self._lag_gauge.set(max(self._worst, time.monotonic() - self._due))
        self._worst = 0.0

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due = time.monotonic() + TICK_S
        loop.call_later(TICK_S, self._tick, loop)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        if loop is not self._loop:
            return
        now = time.monotonic()
        self._worst = max(self._worst, now - self._due)
        if now - self._asked > IDLE_S:
            self._loop = None
        else:
            self._wait(loop)


@functools.cache
def _basics() -> _Basics:
    return _Basics()
