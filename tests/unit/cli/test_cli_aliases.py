"""The published spellings."""

import pytest

from quartet_cli.main import expand_aliases


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--task", "bring the can"], ["run", "bring the can"]),
        (["--task=bring the can"], ["run", "bring the can"]),
        (["--verbose", "--task", "x"], ["run", "--verbose", "x"]),
        (["--test-pick", "red coke can"], ["pick", "red coke can"]),
        (["--test-place", "table", "can", "0.12", "--json"], ["place", "table", "can", "0.12", "--json"]),
        (["--test-approach", "kitchen", "can", "pick"], ["approach", "kitchen", "can", "pick"]),
        (["run", "do --task now"], ["run", "do --task now"]),
        (["run", "--task", "x"], ["run", "--task", "x"]),
        (["--help"], ["--help"]),
        ([], []),
    ],
)
def test_published_spellings_become_commands(given: list[str], expected: list[str]) -> None:
    assert expand_aliases(given) == expected
