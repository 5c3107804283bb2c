"""Clocks of processes that differ are named, whatever this machine's clock says."""

import time
from typing import Any

import httpx
import pytest

from quartet_cli.doctor import Finding, Verdict, clocks

PROCESSES = {"orchestrator": "http://o:8000", "nav2": "http://n:8001/mcp?x=1", "ros": "http://r:8004/mcp"}


@pytest.fixture
def examine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`examine(o=0.0, n=-3.0)`: what is told of hosts with clocks that far ahead; `redis` of the orchestrator."""

    def check(redis: float = 0.0, **ahead: float) -> Finding | None:
        def answer(request: httpx.Request) -> httpx.Response:
            assert request.url.path == "/health"
            if request.url.host not in ahead:
                raise httpx.ConnectError("refused")
            body = {"time": time.time() + ahead[request.url.host]}
            return httpx.Response(200, json=body | ({"store_clock_ahead_s": redis} if request.url.host == "o" else {}))

        transport, client = httpx.MockTransport(answer), httpx.Client
        monkeypatch.setattr(httpx, "Client", lambda **_: client(transport=transport))
        return clocks.check_clocks(PROCESSES)

    return check


@pytest.mark.parametrize(
    ("ahead", "told"),
    [
        ({"o": 0.0, "n": -3.0, "r": 0.0}, "the clock of orchestrator is 3.0 s ahead of that of nav2"),
        ({"o": 100.0, "n": 100.2, "r": 101.5}, "the clock of ros is 1.5 s ahead of that of orchestrator"),
        ({"o": 0.0, "n": 0.0, "redis": 5.0}, "the clock of redis is 5.0 s ahead of that of orchestrator"),
    ],
)
def test_a_difference_is_named(examine: Any, ahead: dict[str, float], told: str) -> None:
    finding = examine(**ahead)
    assert finding.verdict is Verdict.WARNING
    assert finding.what.startswith(told)
    assert "chrony" in finding.remedy


def test_clocks_that_agree(examine: Any) -> None:
    finding = examine(o=50.0, n=50.2, r=49.9)
    assert (finding.verdict, finding.what) == (Verdict.OK, "the clocks of orchestrator, redis, nav2, ros agree")


def test_nothing_is_told_of_one_clock(examine: Any) -> None:
    assert examine(n=9.0) is None
