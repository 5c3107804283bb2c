"""One deployment of the small world whose model endpoint is in this process."""

from collections.abc import Iterator

import pytest

from quartet_benchmarks.faults import FaultyStack, faulty_stack


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyStack]:
    with faulty_stack(tmp_path_factory.mktemp("faults"), start_timeout_s=180.0) as started:
        yield started
