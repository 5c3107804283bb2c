"""A motion lease ends its motion when nobody watches the caller any more."""

import asyncio
import math
import time
from typing import Any

import pytest

from quartet_safety.motion import LapsedError
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


class Guard:
    """It runs; `lapsed_at` is when it last ended the motions."""

    latched, reason = False, "running"

    def __init__(self) -> None:
        self.lapsed_at = -math.inf

    def lapse_since(self, began_s: float) -> str | None:
        return "heartbeat lapsed: moveit:1" if self.lapsed_at >= began_s else None

    async def settle(self) -> bool:
        return False


class Beats:
    age_s = 0.0

    async def begin(self) -> None:
        pass

    async def end(self) -> None:
        pass


async def test_a_goal_that_the_guard_ended_lapsed_although_the_guard_runs_again():
    guard = Guard()
    terms = LeaseTerms(guard, lambda _: Beats(), heartbeat_every_s=0.1, guard_timeout_s=60.0, caller_timeout_s=60.0)
    lease = MotionLease("arm", "plan_cartesian_path", terms, lambda _: None)
    guard.lapsed_at = time.monotonic()
    await lease.explain_canceled_goal(by_us=False)
    await lease.ready()
    await lease.explain_canceled_goal(by_us=False)
    guard.lapsed_at = time.monotonic()
    with pytest.raises(LapsedError, match="heartbeat lapsed: moveit:1"):
        await lease.explain_canceled_goal(by_us=False)
    await lease.close()
