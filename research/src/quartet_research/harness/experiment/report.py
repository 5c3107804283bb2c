"""Result of an experiment as Markdown, CSV, JSON and a picture."""

import csv
import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from quartet_research.harness.study import Report


def write_report(folder: Path, report: Report) -> list[Path]:
    """Write `table.md`, `table.csv`, `trials.csv`, `result.json`, and `success.png` if matplotlib is installed.

    Returns the paths.
    """
    result = report.result
    draw = report.draw if find_spec("matplotlib") else None
    names = ["table.md", "table.csv", "trials.csv", "result.json", *(["success.png"] if draw else [])]
    paths = [folder / name for name in names]
    parts = [
        f"# {result.suite}",
        ", ".join(f"{name} {value}" for name, value in result.parameters.items() if value != ""),
    ]
    parts.append(markdown(result.rows))
    for heading, rows in report.sections.items():
        parts += [f"## {heading}", markdown(rows)]
    parts += ["![success](success.png)"] if draw else []
    parts += [f"- {note}" for note in result.notes]
    paths[0].write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    _write_csv(paths[1], result.rows)
    _write_csv(paths[2], result.details)
    paths[3].write_text(json.dumps(result.as_json(), indent=1) + "\n", encoding="utf-8")
    if draw:
        draw().savefig(paths[4], dpi=120)
    return paths


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table in Markdown with all columns of the rows."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = [columns, ["---"] * len(columns), *([_cell(row.get(name)) for name in columns] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    return "" if value is None else str(value).replace("|", "\\|")


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
