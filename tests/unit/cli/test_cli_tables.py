"""What `quartet list` shows on terminals of all widths."""

import io

import pytest
from rich.console import Console

from quartet_cli.tables import print_table

NAMES = ("task", "state", "robot", "age", "sentence")
ROWS = [
    (
        "20261125-094224-a6f37c",
        "INITIALIZING",
        "summit",
        "5 s",
        "pick up the cup in the kitchen and put it on the table",
    ),
    ("20261125-094149-87bbc9", "FAILED", "any", "12 min", ""),
]


def printed(width: int) -> str:
    out = io.StringIO()
    print_table(Console(file=out, width=width, force_terminal=True, color_system=None), NAMES, ROWS)
    return out.getvalue()


@pytest.mark.parametrize("width", [30, 40, 60, 70, 80, 200])
def test_ids_and_states_are_never_cut(width: int) -> None:
    text = printed(width)
    assert max(map(len, (line.rstrip() for line in text.splitlines()))) <= max(
        width, len("20261125-094224-a6f37c  INITIALIZING")
    )
    assert "…" not in text
    for row in ROWS:
        assert all(cell in " ".join(text.split()) for cell in row[:4])


def test_where_there_is_room_it_is_a_table_and_else_paragraphs() -> None:
    assert printed(100).splitlines()[0].split() == list(NAMES)
    assert [line.rstrip() for line in printed(40).splitlines()] == [
        "20261125-094224-a6f37c  INITIALIZING",
        "  robot summit, age 5 s",
        "  pick up the cup in the kitchen and put",
        "  it on the table",
        "20261125-094149-87bbc9  FAILED",
        "  robot any, age 12 min",
    ]
