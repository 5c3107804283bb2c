"""A motion lease ends its motion when nobody watches the caller any more."""

import asyncio
from typing import Any

from quartet_safety.motion._lease import LeaseTerms, MotionLease


class Goal:
    def __init__(self) -> None:
        self.canceled = ""

    def cancel(self, reason: str) -> None:
        self.canceled = reason


async def test_a_watch_that_fails_ends_the_motion_and_its_heartbeats():
    """Otherwise this process goes on telling the guard that all is well while a caller may be gone."""
    nobody: Any = None
    fails = asyncio.Event()

    def barrier(_: MotionLease) -> None:
        if fails.is_set():
            raise KeyError("a fault of ours")

    terms = LeaseTerms(nobody, nobody, heartbeat_every_s=0.01, guard_timeout_s=1.0, caller_timeout_s=1.0)
    lease, goal = MotionLease("base", "drive", terms, barrier), Goal()
    lease.goal = goal
    lease.open()
    fails.set()
    async with asyncio.timeout(30):
        await lease.canceled.wait()
    assert "a fault of ours" in goal.canceled
    assert lease.lapsed
    await lease.close()
