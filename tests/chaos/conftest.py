"""One whole deployment in the small world, for tests that kill parts of it."""

from collections.abc import Iterator

import pytest

from quartet_benchmarks.chaos import small_world
from quartet_benchmarks.chaos.wire import Wire
from quartet_cli.stack import Stack


@pytest.fixture(scope="module")
def deployment() -> Iterator[tuple[Stack, Wire]]:
    with small_world() as started:
        yield started
