"""One whole deployment in the small world, for tests that kill parts of it."""

from collections.abc import Iterator

import pytest

from quartet_cli.stack import Stack, StackOptions


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("stack")
    with Stack(StackOptions(state_dir=folder, world="studio", use_dotenv=False, start_timeout_s=180.0)) as started:
        yield started
