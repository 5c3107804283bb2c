"""Quartet's own clients of the suite `overhead`, with the real gateway, Redis and MCP server."""

import pytest

from quartet_benchmarks.errors import MeasurementError
from quartet_benchmarks.overhead import suite
from quartet_benchmarks.result import BenchParameters


@pytest.mark.long
def test_both_clients_of_quartet_do_the_task_where_no_other_can_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(name: str) -> None:
        raise MeasurementError(f"{name} cannot be installed")

    # A person's choice of a model, which would be asked for money.
    monkeypatch.setenv("QUARTET_MODEL", "openai/gpt-4.1")
    monkeypatch.setattr(suite, "python_of", offline)
    monkeypatch.setattr(suite, "WARM_UP", 0)
    result = suite.run(BenchParameters(episodes=1, progress=lambda _: None))
    rows = {row["client"]: row for row in result.rows}
    assert rows.keys() == {suite.LOOP, suite.AGENT}
    for row in rows.values():
        assert row["turn ms p50"] > 0
        assert row["gateway's cpu ms a turn"] > 0
        assert row["peak MB"] > 10
    assert len([note for note in result.notes if "cannot be installed" in note]) == 6
