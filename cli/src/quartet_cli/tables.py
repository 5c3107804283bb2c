"""Tables that keep their ids whole, however narrow the terminal is."""

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

MIN_LAST_WIDTH = 20
"""Columns that the last column of a table needs; with fewer the rows are printed as paragraphs."""


def print_table(console: Console, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below the names of their columns; only the cells of the last column are broken into lines.

    Where these do not fit, each row is a paragraph: its first two cells, the others with their names, the last one.
    """
    widths = [max(map(len, (name, *(row[i] for row in rows)))) for i, name in enumerate(names[:-1])]
    if sum(width + 2 for width in widths) + MIN_LAST_WIDTH <= console.width:
        table = Table(box=None, pad_edge=False)
        for name, width in zip(names, (*widths, None), strict=True):
            table.add_column(name, no_wrap=width is not None, min_width=width)
        for row in rows:
            table.add_row(*row)
        console.print(table)
        return
    for row in rows:
        console.print(Text("  ".join(cell for cell in row[:2] if cell)), soft_wrap=True)
        named = ", ".join(f"{name} {cell}" for name, cell in zip(names[2:-1], row[2:-1], strict=True) if cell)
        for text in filter(None, (named, row[-1])):
            console.print(Padding(Text(text), (0, 0, 0, 2)))
