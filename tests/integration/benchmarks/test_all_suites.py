"""The processes of `quartet bench all`."""

import json
from pathlib import Path

import pytest

from quartet_benchmarks import all_suites
from quartet_benchmarks.all_suites import run_all


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(all_suites, "project_root", lambda: tmp_path)
    (tmp_path / "benchmarks").mkdir()
    monkeypatch.setattr(all_suites, "state_folder", lambda: tmp_path)
    monkeypatch.setattr(all_suites, "draw", lambda *_: [])
    return tmp_path


@pytest.mark.long
def test_a_suite_that_ends_without_figures_does_not_end_the_others(written: Path) -> None:
    # The first does not exist; the second is the shortest one that there is.
    runs = run_all(["no-such-suite", "escapes"], 0, lambda _: None)
    assert [run.suite for run in runs] == ["no-such-suite", "escapes"]
    assert runs[0].result is None
    assert "there is no suite 'no-such-suite'" in runs[0].reason
    text = (written / "benchmarks" / "RESULTS.md").read_text()
    assert "there is no suite 'no-such-suite'" in text
    if (found := runs[1].result) is not None:
        assert json.loads((written / "bench-all" / "escapes.json").read_text()) == found
        assert "| escapes_held |" in text
    else:
        # Where nothing confines programs, the suite says so.
        assert runs[1].reason in text


def test_a_result_of_an_earlier_run_is_no_figure_of_this_one(written: Path) -> None:
    (written / "bench-all").mkdir()
    (written / "bench-all" / "no-such-suite.json").write_text('{"metrics": {}}')
    (run,) = run_all(["no-such-suite"], 0, lambda _: None)
    assert run.result is None
