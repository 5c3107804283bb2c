"""What the orchestrator measures of the bus whenever somebody asks for its metrics."""

import asyncio
import logging
import time

from quartet_bus import Bus, BusUnavailable
from quartet_contracts import Skill
from quartet_orchestrator import metrics

log = logging.getLogger(__name__)

PATIENCE_S = 2.0
"""Shorter than Prometheus' time-out, so that a Redis that hangs does not take the other metrics with it."""


async def measure(bus: Bus, robots: list[str]) -> None:
    """Depth and age of every queue, agents that live, dead letters, and the leases of robots that this replica holds.

    Where Redis does not answer, what it would have told is left out rather than told as it was.
    """
    for robot in robots:
        metrics.LEASE.labels(robot).set(float(bus.robot_tasks(robot).owned))
    began = time.monotonic()
    try:
        async with asyncio.timeout(PATIENCE_S):
            depths = await bus.depths.look(robots)
            metrics.ROUND_TRIP.observe(time.monotonic() - began)
            alive = {skill: await bus.skills(skill).alive() for skill in Skill}
            dead = await bus.depths.dead_letters()
    except (BusUnavailable, TimeoutError) as error:
        log.debug("metrics of the bus: %s", error)
        metrics.BUS_UP.set(0)
        for gauge in (metrics.WAITING, metrics.HELD, metrics.AGE, metrics.AGENTS):
            gauge.clear()
        return
    metrics.BUS_UP.set(1)
    for depth in depths:
        stream = f"{depth.kind}:{depth.name}"
        metrics.WAITING.labels(stream).set(depth.waiting)
        metrics.HELD.labels(stream).set(depth.held)
        metrics.AGE.labels(stream).set(depth.age_s)
    for skill, count in alive.items():
        metrics.AGENTS.labels(str(skill)).set(count)
    metrics.DEAD_LETTERS.set(dead)
