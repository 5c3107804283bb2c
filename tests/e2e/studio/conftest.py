"""One deployment in the one-room world for all tests of this folder, which tells all that it can."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from quartet_benchmarks.timing.collector import Collector, collecting
from quartet_deployment import Stack


@pytest.fixture(scope="package")
def collector() -> Iterator[Collector]:
    with collecting() as opened:
        yield opened


@pytest.fixture(scope="package")
def stack(stacks: Callable[[], AbstractContextManager[Callable[..., Stack]]], collector: Collector) -> Iterator[Stack]:
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        "QUARTET_LOG_FORMAT": "json",
        "QUARTET_LOG_LEVEL": "DEBUG",
    }
    with stacks() as start:
        yield start(world="studio", seed=1, env=env)


@pytest.fixture(autouse=True)
def everything_runs(stack: Stack) -> None:
    """Each test begins with a whole deployment, whatever the one before did to it."""
    for name in [name for name, running in stack.running().items() if not running]:
        stack.restart(name)
