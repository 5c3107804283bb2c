"""`quartet bench all`: every suite in its short form, on one page."""

from pathlib import Path
from typing import Any

import pytest

from quartet_benchmarks import all_suites, command
from quartet_benchmarks.all_suites import SuiteRun, charts, page
from quartet_benchmarks.charts import Bar, charts_of
from quartet_benchmarks.errors import MeasurementError, OptionError
from quartet_benchmarks.result import BenchResult, Rate
from quartet_deployment import project_root

RESULT = BenchResult("some", {"runs": 3}, {"rate": Rate(3, 4), "time_s": 1.25, "none_s": float("nan")}).as_json()


def test_the_page_has_the_figures_with_their_intervals_and_the_machine() -> None:
    text = page([SuiteRun("some", 12.0, RESULT)], seed=7)
    assert "## some" in text
    assert "runs 3; 12 s" in text
    assert "| rate | 0.75 | 4 | 0.301 to 0.954 |" in text
    assert "| time_s | 1.25 | | |" in text
    assert "| none_s | – | | |" in text
    assert "seed 7" in text
    assert "Python 3." in text
    assert "litellm " in text


def test_the_page_says_why_a_suite_gave_no_figures_whatever_it_printed() -> None:
    text = page([SuiteRun("some", 2.0, None, "no | route\n# to <it>")], seed=0)
    assert "No figures after 2 s: no / route # to (it)" in text


def test_the_page_does_not_tell_where_the_project_lies() -> None:
    text = page([SuiteRun("some", 2.0, None, f"look at {project_root()}/runs/gateway.log")], seed=0)
    assert "look at runs/gateway.log" in text
    assert str(project_root()) not in text


def test_the_page_shows_the_charts_or_says_why_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(name: str) -> None:
        raise MeasurementError(f"{name}: no route to the index")

    run = SuiteRun("some", 12.0, RESULT)
    assert "![rates](results/rates.png)" in page([run], 0, [Path("anywhere", "results", "rates.png")])
    monkeypatch.setattr("quartet_benchmarks.charts.python_of", offline)
    assert "No charts: charts: no route to the index" in page([run], 0, charts([run]))


def test_the_page_names_the_commit_that_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_suites, "commit", lambda: "another")
    assert "- commit abc, seed 0" in page([SuiteRun("some", 12.0, {**RESULT, "commit": "abc"})], seed=0)


def test_charts_have_the_rates_with_their_intervals_and_the_rows_of_the_comparisons() -> None:
    buses = [
        {"bus": "quartet", "appendfsync": "no", "p50 ms": 1.0, "p95 ms": 3.0},
        {"bus": "quartet", "appendfsync": "always", "p50 ms": 2.0, "p95 ms": 4.0},
        {"bus": "grpc", "appendfsync": "", "p50 ms": 0.5, "p95 ms": 0.6},
    ]
    bus = BenchResult("bus", {}, {}, buses).as_json()
    clients = [{"client": "some", "turn ms p50": 9.0, "p95": 11.0, "peak MB": 80.0}]
    overhead = BenchResult("overhead", {}, {}, clients).as_json()
    found = {chart.name: chart for chart in charts_of({"some": RESULT, "bus": bus, "overhead": overhead})}
    (rate,) = found["rates"].series["rate"]
    assert (rate.label, rate.value) == ("some: rate", 0.75)
    assert (rate.low, rate.high) == pytest.approx((0.301, 0.954), abs=1e-3)
    assert [bar.label for bar in found["bus"].series["nothing on disk"]] == ["quartet", "grpc"]
    assert found["bus"].series["on disk before each answer"] == [Bar("quartet", 2.0, 2.0, 4.0)]
    assert found["overhead"].series["p50"] == [Bar("some", 9.0, 9.0, 11.0)]
    assert found["memory"].series["peak"] == [Bar("some", 80.0)]
    assert charts_of({}) == []


def test_all_runs_every_suite_and_names_those_without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def pretend(suites: list[str], seed: int, progress: Any) -> list[SuiteRun]:
        asked.append((suites, seed))
        return [SuiteRun(name, 1.0, None if name == "home" else RESULT) for name in suites]

    monkeypatch.setattr(command, "run_all", pretend)
    with pytest.raises(MeasurementError, match=r"^home: no figures"):
        command.bench("all", seeds=[3])
    assert asked == [(sorted(command.SUITES), 3)]


@pytest.mark.parametrize(
    "given", [{"episodes": 3}, {"json_path": Path("x.json")}, {"sensors": "harsh"}, {"options": {"flame": "pick"}}]
)
def test_options_of_single_suites_are_refused(given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "run_all", lambda *_: pytest.fail("it ran"))
    with pytest.raises(OptionError, match="'all'"):
        command.bench("all", **given)
