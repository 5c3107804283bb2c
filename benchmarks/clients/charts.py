"""Draws charts: `python charts.py FOLDER`, with the charts of quartet_benchmarks.charts as JSON on its input.

It runs in an environment of its own, since nothing else in a deployment needs matplotlib.
"""

import json
import sys
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

WIDTH, ROW, BESIDE = 8.0, 0.3, 1.1
"""Inches: width of a chart, height of a bar, height of title and axis."""
DPI = 110


def draw(chart: dict[str, Any], folder: Path) -> None:
    """Write FOLDER/name.png."""
    figure = _curves(chart) if chart["curve"] else _bars(chart)
    figure.savefig(folder / f"{chart['name']}.png", dpi=DPI)


def _curves(chart: dict[str, Any]) -> Figure:
    """Return a curve for each series, with the intervals of its points."""
    figure = Figure(figsize=(WIDTH * 0.7, WIDTH * 0.45), layout="constrained")
    axes: Any = figure.subplots()
    for name, points in chart["series"].items():
        ends = [_ends(point) for point in points]
        errors = [[low for low, _ in ends], [high for _, high in ends]]
        labels, values = [point["label"] for point in points], [point["value"] for point in points]
        axes.errorbar(labels, values, yerr=errors, marker="o", capsize=4, linewidth=1.2, label=name)
    axes.set_ylim(0, 1.02)
    axes.margins(x=0.15)
    axes.grid(axis="y", linewidth=0.4)
    axes.set_ylabel(chart["unit"])
    axes.set_title(chart["title"], fontsize=10)
    axes.legend(fontsize=8, loc="lower left")
    return figure


def _bars(chart: dict[str, Any]) -> Figure:
    """Return a horizontal bar for each row and series, with its interval where it has one."""
    series: dict[str, list[dict[str, Any]]] = chart["series"]
    labels = list(dict.fromkeys(bar["label"] for bars in series.values() for bar in bars))
    figure = Figure(figsize=(WIDTH, BESIDE + ROW * len(labels) * max(1, len(series) * 0.8)), layout="constrained")
    axes: Any = figure.subplots()
    height = 0.8 / len(series)
    for number, (name, bars) in enumerate(series.items()):
        places = [labels.index(bar["label"]) + (number - (len(series) - 1) / 2) * height for bar in bars]
        values = [bar["value"] for bar in bars]
        drawn = axes.barh(places, values, height * 0.9, label=name)
        if any(bar["high"] is not None for bar in bars):
            ends = [_ends(bar) for bar in bars]
            errors = [[low for low, _ in ends], [high for _, high in ends]]
            axes.errorbar(values, places, xerr=errors, fmt="none", ecolor="black", capsize=2, linewidth=0.8)
        else:
            axes.bar_label(drawn, fmt="%.3g", padding=2, fontsize=7)
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    # Half a bar at either end, however many there are.
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlabel(chart["unit"])
    axes.set_title(chart["title"], fontsize=10)
    if len(series) > 1:
        axes.legend(fontsize=8)
    return figure


def _ends(bar: dict[str, Any]) -> tuple[float, float]:
    """Return how far a bar's interval reaches below and above its end."""
    value, low, high = bar["value"], bar["low"], bar["high"]
    return max(0.0, value - low) if low is not None else 0.0, max(0.0, high - value) if high is not None else 0.0


if __name__ == "__main__":
    for one in json.load(sys.stdin):
        draw(one, Path(sys.argv[1]))
