"""`quartet bench all`: every suite in its short form, on one page."""

from pathlib import Path
from typing import Any

import pytest

from quartet_benchmarks import command
from quartet_benchmarks.all_suites import SuiteRun, page
from quartet_benchmarks.errors import MeasurementError, OptionError
from quartet_benchmarks.result import BenchResult, Rate

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


def test_all_runs_every_suite_and_names_those_without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def pretend(suites: list[str], seed: int, progress: Any) -> list[SuiteRun]:
        asked.append((suites, seed))
        return [SuiteRun(name, 1.0, None if name == "home" else RESULT) for name in suites]

    monkeypatch.setattr(command, "run_all", pretend)
    with pytest.raises(MeasurementError, match=r"^home: no figures"):
        command.bench("all", seed=3)
    assert asked == [(sorted(command.SUITES), 3)]


@pytest.mark.parametrize(
    "given", [{"episodes": 3}, {"json_path": Path("x.json")}, {"sensors": "harsh"}, {"options": {"flame": "pick"}}]
)
def test_options_of_single_suites_are_refused(given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "run_all", lambda *_: pytest.fail("it ran"))
    with pytest.raises(OptionError, match="'all'"):
        command.bench("all", **given)
