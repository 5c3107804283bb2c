"""One whole deployment in the small world, for tests that kill parts of it."""

from collections.abc import Iterator

import pytest

from quartet_benchmarks.chaos import SmallWorld, small_world


@pytest.fixture(scope="module")
def deployment() -> Iterator[SmallWorld]:
    with small_world() as started:
        yield started
