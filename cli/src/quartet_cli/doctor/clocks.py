"""Clocks of the running processes: grants, deadlines and leases hold for times that all of them have to know."""

import time
from collections.abc import Mapping

import httpx

from quartet_cli.doctor.examination import Finding, Verdict
from quartet_process import clock_skew

TIMEOUT_S = 3.0
TOLERATED_S = 1.0
"""Difference that is told: servers tolerate two seconds."""


def check_clocks(processes: Mapping[str, str]) -> Finding | None:
    """Compare the clocks of processes, by name and URL, and of the Redis that one of them uses.

    Returns None when fewer than two of them tell their time. That of this machine does not count.
    """
    ahead: dict[str, float] = {}
    with httpx.Client(timeout=TIMEOUT_S, trust_env=False) as client:
        for name, url in processes.items():
            sent_at = time.time()
            try:
                health = client.get(httpx.URL(url).copy_with(path="/health", query=None)).json()
                ahead[name] = clock_skew(float(health["time"]), sent_at, time.time())
            except (httpx.HTTPError, ValueError, KeyError, TypeError):
                continue
            if "store_clock_ahead_s" in health:
                ahead["redis"] = ahead[name] + float(health["store_clock_ahead_s"])
    if len(ahead) < 2:
        return None
    first, last = max(ahead, key=ahead.__getitem__), min(ahead, key=ahead.__getitem__)
    if (off := ahead[first] - ahead[last]) < TOLERATED_S:
        return Finding(step="clocks", verdict=Verdict.OK, what=f"the clocks of {', '.join(ahead)} agree")
    return Finding(
        step="clocks",
        verdict=Verdict.WARNING,
        what=f"the clock of {first} is {off:.1f} s ahead of that of {last}; beyond 2 s grants count as expired",
        remedy="synchronise the machines on which they run (chrony or another NTP client)",
    )
