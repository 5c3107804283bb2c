"""Whether a job of the chaos suite left the base moving is read when its journal ends, whatever happens after that."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from quartet_benchmarks.chaos.job import Job
from quartet_deployment import RefusedError, Stack, free_ports


def job(sim: Any, scoring_url: str) -> Job:
    """A job at an orchestrator that knows no such task: its journal ends with an error at once."""
    stack = SimpleNamespace(scoring_url=scoring_url, api_token=None)
    world = sim.get("/truth")
    things = {name: thing["position"] for name, thing in world["objects"].items()}
    return Job(cast("Stack", stack), "Pick it up.", next(iter(things)), "counter", "t1", sim.ready["guard_url"], things)


async def follow(a_job: Job) -> None:
    with pytest.raises(RefusedError):
        await asyncio.to_thread(list, a_job.follow())


async def test_a_base_that_halts_after_the_end_was_left_moving(sim: Any, robot: Any, eventually: Any) -> None:
    left = job(sim, sim.ready["scoring_url"])
    await robot.goal("g", "/spin", "nav2_msgs/action/Spin", {"target_yaw": 100_000.0}, feedback=True)
    await robot.op("action_feedback", id="g")
    await follow(left)
    async with httpx.AsyncClient(base_url=sim.ready["guard_url"], timeout=60) as guard:
        (await guard.post("/stop", json={})).raise_for_status()

        async def stands() -> bool:
            return (await guard.get("/state")).json()["standstill"]

        await eventually(stands)
    assert left.score().at_rest is False
    await follow(left)
    assert left.score().at_rest is True


async def test_a_simulation_that_does_not_answer_says_nothing_of_its_base(sim: Any) -> None:
    (nobody,) = free_ports(1)
    left = job(sim, f"http://127.0.0.1:{nobody}")
    await follow(left)
    left.stack = cast("Stack", SimpleNamespace(scoring_url=sim.ready["scoring_url"], api_token=None))
    assert left.score().at_rest is None
