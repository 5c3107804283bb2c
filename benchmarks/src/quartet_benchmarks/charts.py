"""Charts of the page that `quartet bench all` writes; they are drawn in an environment of their own."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quartet_benchmarks.environments import CLIENTS, environment, python_of
from quartet_benchmarks.errors import MeasurementError

DRAWING_S = 300
Result = Mapping[str, Any]
"""What a suite writes with --json."""


@dataclass(frozen=True)
class Bar:
    """One bar, with the ends of its 95 % interval or of what else is drawn over it; None: it has none."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Chart:
    """A chart of horizontal bars, side by side where there are several series, or of curves."""

    name: str
    """Of its file, without .png."""
    title: str
    unit: str
    series: dict[str, list[Bar]]
    curve: bool = False
    """Whether the values of a series are the points of a curve, from left to right; they lie between 0 and 1."""


def charts_of(results: Mapping[str, Result]) -> list[Chart]:
    """Return the charts of `results` (suite to result); suites without figures that can be drawn have none."""
    found = [_rates(results)]
    if (bus := results.get("bus")) is not None:
        found.append(_bus(bus))
    if (overhead := results.get("overhead")) is not None:
        turn = _column(overhead, "client", "turn ms p50", "p95")
        found.append(Chart("overhead", "A turn of an agent beside the model (line: to p95)", "ms", {"p50": turn}))
        memory = _column(overhead, "client", "peak MB")
        found.append(Chart("memory", "Peak memory of an agent's process", "MB", {"peak": memory}))
    return [chart for chart in found if any(chart.series.values())]


def _rates(results: Mapping[str, Result]) -> Chart:
    """Return every rate of every suite, with its interval."""
    bars = [
        Bar(f"{suite}: {name}", result["metrics"][name], interval["low"], interval["high"])
        for suite, result in results.items()
        for name, interval in result["intervals"].items()
        if interval["n"] and result["metrics"][name] is not None
    ]
    return Chart("rates", "All rates, with their 95 % intervals", "rate", {"rate": bars})


def _bus(result: Result) -> Chart:
    """Return the times of all buses, those with a durable store beside those without."""
    kinds = {"": "nothing on disk", "no": "nothing on disk", "always": "on disk before each answer"}
    series: dict[str, list[Bar]] = {}
    for row in result["rows"]:
        bar = Bar(row["bus"], row["p50 ms"], row["p50 ms"], row["p95 ms"])
        series.setdefault(kinds[row["appendfsync"]], []).append(bar)
    return Chart("bus", "From a skill's request to its result (line: to p95)", "ms, p50", series)


def _column(result: Result, label: str, value: str, high: str | None = None) -> list[Bar]:
    return [
        Bar(row[label], row[value], row[value] if high else None, row[high] if high else None) for row in result["rows"]
    ]


def draw(charts: Sequence[Chart], folder: Path) -> list[Path]:
    """Write each chart to `folder` as PNG and return the files.

    Raises:
        MissingExtraError: There is no uv.
        MeasurementError: matplotlib cannot be installed, or the charts cannot be drawn.
    """
    python = python_of("charts")
    folder.mkdir(parents=True, exist_ok=True)
    told = json.dumps([asdict(chart) for chart in charts])
    argv = [str(python), str(CLIENTS / "charts.py"), str(folder)]
    try:
        done = subprocess.run(argv, input=told, capture_output=True, text=True, timeout=DRAWING_S, env=environment())
    except subprocess.TimeoutExpired as error:
        raise MeasurementError(f"the charts were not drawn within {DRAWING_S} s") from error
    if done.returncode:
        raise MeasurementError(f"the charts cannot be drawn: {done.stderr.strip()[-500:]}")
    return [folder / f"{chart.name}.png" for chart in charts]
