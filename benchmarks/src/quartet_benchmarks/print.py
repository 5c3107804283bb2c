"""Prints the table of a suite."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from quartet_benchmarks.result import BenchResult, Rate, commit, machine


def print_result(result: BenchResult, console: Console) -> None:
    """Print machine and parameters, the rows, the headline figures and the notes.

    Cells and notes may quote a log or an error, in which square brackets are no markup.
    """
    facts = machine()
    parameters = ", ".join(f"{name} {value}" for name, value in result.parameters.items())
    console.print(
        Text.assemble(
            (result.suite, "bold"),
            f"  {parameters}  ",
            (f"{facts['cores']} cores, {facts['memory_gb']} GB, Python {facts['python']}, commit {commit()}", "dim"),
        ),
        soft_wrap=True,
    )
    if result.rows:
        console.print(_rows(result.rows), markup=False)
    table = Table("metric", "value", "n", "95 % interval", box=SIMPLE_HEAD)
    for name, value in result.metrics.items():
        if isinstance(value, Rate):
            low, high = value.interval
            table.add_row(name, f"{value.value:.3f}", f"{value.successes}/{value.n}", f"{low:.3f} to {high:.3f}")
        else:
            table.add_row(name, f"{value:.4g}", "", "")
    console.print(table)
    for note in result.notes:
        console.print(note, style="dim", markup=False)


def _rows(rows: list[dict[str, Any]]) -> Table:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(*columns, box=SIMPLE_HEAD)
    for name, column in zip(columns, table.columns, strict=True):
        # On a narrow terminal words give way, figures do not; nothing is cut off.
        column.overflow = "fold"
        column.no_wrap = all(isinstance(row.get(name), int | float | None) for row in rows)
    for row in rows:
        table.add_row(*(_cell(row.get(name)) for name in columns))
    return table


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
