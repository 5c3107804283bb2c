"""The charts of `quartet bench all`, drawn by the script that its own environment runs."""

import importlib.util
from dataclasses import asdict
from pathlib import Path

from PIL import Image

from quartet_benchmarks.charts import Bar, Chart
from quartet_benchmarks.environments import CLIENTS


def test_each_chart_is_drawn_with_intervals_several_series_and_gaps(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("charts_script", CLIENTS / "charts.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    intervals = {"rate": [Bar("some: rate", 0.5, 0.2, 0.8), Bar("other: rate", 1.0)]}
    series = {"a": [Bar("x", 1.0), Bar("y", 2.0)], "b": [Bar("y", 3.0)]}
    levels = {"tasks": [Bar("clean", 1.0, 0.8, 1.0), Bar("harsh", 0.4, 0.2, 0.7)]}
    bars = Chart("rates", "Rates", "rate", intervals), Chart("times", "Times", "ms", series)
    for chart, width in (*((one, 880) for one in bars), (Chart("curve", "Noise", "success", levels, curve=True), 616)):
        script.draw(asdict(chart), tmp_path)
        with Image.open(tmp_path / f"{chart.name}.png") as picture:
            assert picture.width == width
            assert len(picture.convert("RGB").getcolors(1 << 20) or []) > 10
