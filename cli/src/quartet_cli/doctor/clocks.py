"""Clocks of the running processes: grants, deadlines and leases hold for times that all of them have to know."""

import time
from collections.abc import Mapping
from typing import Any

import httpx2

from quartet_cli.doctor.examination import Finding, Verdict
from quartet_process import clock_skew
from quartet_process.bounded_answers import blocking_client

TIMEOUT_S = 3.0
TOLERATED_S = 1.0
"""Difference that is told: servers tolerate two seconds."""


def check_clocks(processes: Mapping[str, str]) -> Finding | None:
    """Compare the clocks of processes, by name and URL, and of the Redis and the agents that one of them knows.

    That of this machine does not count. Says which processes tell no time, and returns None when there is no second
    clock to compare with.
    """
    ahead: dict[str, float] = {}
    silent: dict[str, str] = {}
    with blocking_client(timeout=TIMEOUT_S) as client:
        for name, url in processes.items():
            health_url, sent_at = httpx2.URL(url).copy_with(path="/health", query=None), time.time()
            try:
                health: Any = client.get(health_url).json()
                mine = clock_skew(float(health["time"]), sent_at, time.time())
                others = {"redis": float(health["store_clock_ahead_s"])} if "store_clock_ahead_s" in health else {}
                others |= {name: float(one) for name, one in health.get("agent_clocks_ahead_s", {}).items()}
            except httpx2.HTTPError as error:
                silent[name] = f"no answer at {health_url} ({type(error).__name__})"
            except (ValueError, KeyError, TypeError, AttributeError):
                silent[name] = f"{health_url} tells no time"
            else:
                ahead |= {name: mine, **{other: mine + one for other, one in others.items()}}
    if len(ahead) < 2 and not silent:
        return None
    untold = "; ".join(f"{name}: {why}" for name, why in silent.items())
    if len(ahead) >= 2:
        first, last = max(ahead, key=ahead.__getitem__), min(ahead, key=ahead.__getitem__)
        if (off := ahead[first] - ahead[last]) >= TOLERATED_S:
            differ = f"the clock of {first} is {off:.1f} s ahead of that of {last}; beyond 2 s grants count as expired"
            return Finding(
                step="clocks",
                verdict=Verdict.WARNING,
                what=f"{differ}; not compared: {untold}" if untold else differ,
                remedy="synchronise the machines on which they run (chrony or another NTP client)",
            )
    agree = f"the clocks of {', '.join(ahead)} agree" if len(ahead) >= 2 else "no two clocks could be compared"
    if not untold:
        return Finding(step="clocks", verdict=Verdict.OK, what=agree)
    return Finding(
        step="clocks",
        verdict=Verdict.WARNING,
        what=f"{agree}; not compared: {untold}",
        remedy="start what does not answer, or correct its address (QUARTET_URL, QUARTET_SERVERS)",
    )
