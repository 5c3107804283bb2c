"""One whole deployment in the small world, for tests that kill parts of it."""

from collections.abc import Iterator

import pytest

from quartet_benchmarks.chaos import small_world
from quartet_benchmarks.chaos.redis_proxy import RedisProxy
from quartet_deployment import Stack


@pytest.fixture(scope="module")
def deployment() -> Iterator[tuple[Stack, RedisProxy]]:
    with small_world() as started:
        yield started
