"""Clocks of processes that differ are named, whatever this machine's clock says."""

import math
import time
from typing import Any

import httpx2
import pytest

from quartet_cli.doctor import Finding, Verdict, clocks

PROCESSES = {"orchestrator": "http://o:8000", "nav2": "http://n:8001/mcp?x=1", "ros": "http://r:8004/mcp"}


@pytest.fixture
def examine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`examine(o=0.0, n=-3.0)`: what is told of hosts with clocks that far ahead; `redis` and `pick` are known to o.

    A host without one does not answer, one with NaN tells no time.
    """

    def check(redis: float = 0.0, pick: float = 0.0, **ahead: float) -> Finding | None:
        def answer(request: httpx2.Request) -> httpx2.Response:
            assert request.url.path == "/health"
            if request.url.host not in ahead:
                raise httpx2.ConnectError("refused")
            if math.isnan(mine := ahead[request.url.host]):
                return httpx2.Response(503, json={"status": "unavailable"})
            others = {"store_clock_ahead_s": redis, "agent_clocks_ahead_s": {"pick": pick}}
            body = {"time": time.time() + mine} | (others if request.url.host == "o" else {})
            return httpx2.Response(200, json=body)

        client = httpx2.Client(transport=httpx2.MockTransport(answer))
        monkeypatch.setattr(clocks, "blocking_client", lambda **_: client)
        return clocks.check_clocks(PROCESSES)

    return check


@pytest.mark.parametrize(
    ("ahead", "told"),
    [
        ({"o": 0.0, "n": -3.0, "r": 0.0}, "the clock of orchestrator is 3.0 s ahead of that of nav2"),
        ({"o": 100.0, "n": 100.2, "r": 101.5}, "the clock of ros is 1.5 s ahead of that of orchestrator"),
        ({"o": 0.0, "n": 0.0, "redis": 5.0}, "the clock of redis is 5.0 s ahead of that of orchestrator"),
        ({"o": 0.0, "r": 0.0, "pick": -4.0}, "the clock of orchestrator is 4.0 s ahead of that of pick"),
    ],
)
def test_a_difference_is_named(examine: Any, ahead: dict[str, float], told: str) -> None:
    finding = examine(**ahead)
    assert finding.verdict is Verdict.WARNING
    assert finding.what.startswith(told)
    assert "chrony" in finding.remedy


def test_clocks_that_agree(examine: Any) -> None:
    finding = examine(o=50.0, n=50.2, r=49.9)
    assert (finding.verdict, finding.what) == (Verdict.OK, "the clocks of orchestrator, redis, pick, nav2, ros agree")


@pytest.mark.parametrize(
    ("ahead", "told"),
    [
        ({"o": 0.0, "n": 0.0}, "the clocks of orchestrator, redis, pick, nav2 agree; not compared: ros: no answer at"),
        ({"o": 0.0, "n": 9.0}, "the clock of nav2 is 9.0 s ahead of that of orchestrator; beyond 2 s"),
        ({"n": 9.0}, "no two clocks could be compared; not compared: orchestrator: no answer at http://o:8000/health"),
    ],
)
def test_what_does_not_answer_is_named(examine: Any, ahead: dict[str, float], told: str) -> None:
    finding = examine(**ahead)
    assert finding.verdict is Verdict.WARNING
    assert finding.what.startswith(told)
    assert "ros: no answer at http://r:8004/health (ConnectError)" in finding.what


def test_what_answers_without_its_time_is_named(examine: Any) -> None:
    finding = examine(o=0.0, n=0.0, r=math.nan)
    assert finding.what.endswith("; not compared: ros: http://r:8004/health tells no time")


def test_nothing_is_told_of_one_clock(examine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.PROCESSES", {"nav2": PROCESSES["nav2"]})
    assert examine(n=9.0) is None
