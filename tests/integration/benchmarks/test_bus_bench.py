"""Quartet's side of the suite `bus` and bare streams, with real Redis and processes."""

import pytest

from quartet_benchmarks.bus import suite
from quartet_benchmarks.errors import MeasurementError
from quartet_benchmarks.result import BenchParameters


def test_both_sides_of_the_own_buses_run_where_no_other_can_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(name: str) -> None:
        raise MeasurementError(f"{name} cannot be installed")

    monkeypatch.setattr(suite, "python_of", offline)
    monkeypatch.setattr(suite, "WARM_UP", 0)
    monkeypatch.setattr(suite, "REQUESTS", 3)
    result = suite.run(BenchParameters(episodes=2, progress=lambda _: None))
    rows = {(row["bus"], row["appendfsync"]): row for row in result.rows}
    assert rows.keys() == {(bus, fsync) for bus in (suite.QUARTET, suite.STREAMS) for fsync in ("no", "always")}
    for row in rows.values():
        assert row["n"] == 6
        assert 0 < row["p50 ms"] <= row["p95 ms"]
    assert result.metrics["bus_over_streams"] > 0
    assert len([note for note in result.notes if "cannot be installed" in note]) == 6
