"""Metrics of the orchestrator, their labels, and the gauges that are measured when they are asked for."""

import asyncio
import logging
import time

from prometheus_client import Counter, Gauge, Histogram

from quartet_bus import Bus, BusUnavailableError
from quartet_contracts import TERMINAL, Skill
from quartet_process import REGISTRY

log = logging.getLogger(__name__)

PATIENCE_S = 2.0
"""Time limit of one measurement. Shorter than Prometheus' time-out: a Redis that hangs leaves the other metrics."""

STATE, ROBOT, SERVER, AGENT, STREAM = "state", "robot", "server", "agent", "stream"
SECONDS = (1, 2, 5, 10, 20, 60, 120, 300, 600, 1800)
WAIT_SECONDS = (0.01, 0.05, 0.2, 1, 2, 5, 10, 30, 60, 300, 900, 3600)
TRIP_SECONDS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2)

TASKS = Counter("quartet_tasks_total", "Tasks ended, by state", (STATE,), registry=REGISTRY)
TASK_SECONDS = Histogram("quartet_task_seconds", "Accepted to ended", (STATE,), buckets=SECONDS, registry=REGISTRY)
TASK_WAIT = Histogram("quartet_task_wait_seconds", "Accepted to begun", buckets=WAIT_SECONDS, registry=REGISTRY)
RUNNING = Gauge("quartet_tasks_running", "Tasks that run now", (ROBOT,), registry=REGISTRY)
for _state in TERMINAL:
    # From zero on, so that the first one is seen as an increase.
    TASKS.labels(_state)
    TASK_SECONDS.labels(_state)
FALSE_CLAIMS = Counter(
    "quartet_false_claims_total", "Claims of success that the record did not bear out", registry=REGISTRY
)

BUS_UP = Gauge("quartet_bus_up", "1 while Redis answers", registry=REGISTRY)
ROUND_TRIP = Histogram(
    "quartet_bus_round_trip_seconds",
    "Call of a Redis function until its answer",
    buckets=TRIP_SECONDS,
    registry=REGISTRY,
)
WAITING = Gauge("quartet_queue_waiting", "Entries of a stream that nobody has taken", (STREAM,), registry=REGISTRY)
HELD = Gauge("quartet_queue_held", "Entries of a stream that somebody works on", (STREAM,), registry=REGISTRY)
AGE = Gauge("quartet_queue_age_seconds", "How long the oldest waiting entry has waited", (STREAM,), registry=REGISTRY)
AGENTS = Gauge("quartet_agents_alive", "Replicas of an agent that live", (AGENT,), registry=REGISTRY)
DEAD_LETTERS = Gauge("quartet_dead_letters", "Entries that could not be handled and are kept", registry=REGISTRY)
CLOCK_SKEW = Gauge(
    "quartet_clock_skew_seconds",
    "By how much the clock of a server, or of Redis or an agent (without a robot), is ahead of the orchestrator's",
    (ROBOT, SERVER),
    registry=REGISTRY,
)
LEASE = Gauge("quartet_robot_lease_held", "1 where this replica serves the robot", (ROBOT,), registry=REGISTRY)


async def measure(bus: Bus, robots: list[str]) -> None:
    """Set the gauges of queues, living agents, dead letters and the leases of `robots` that this replica owns.

    While Redis does not answer, the gauges that it feeds are cleared, so that no old value is shown.
    """
    for robot in robots:
        LEASE.labels(robot).set(float(bus.robot_tasks(robot).owned))
    began = time.monotonic()
    try:
        async with asyncio.timeout(PATIENCE_S):
            depths = await bus.queue_depths.look(robots)
            ROUND_TRIP.observe(time.monotonic() - began)
            alive = {skill: await bus.skills(skill).alive() for skill in Skill}
            dead = await bus.dead_letters.count()
            store = await bus.clock_skew()
            for name, ahead in {"redis": 0.0, **bus.journal.agent_clocks}.items():
                CLOCK_SKEW.labels("", name).set(store + ahead)
    except (BusUnavailableError, TimeoutError) as error:
        log.debug("metrics of the bus: %s", error)
        BUS_UP.set(0)
        for gauge in (WAITING, HELD, AGE, AGENTS):
            gauge.clear()
        return
    BUS_UP.set(1)
    for depth in depths:
        stream = f"{depth.kind}:{depth.name}"
        WAITING.labels(stream).set(depth.waiting)
        HELD.labels(stream).set(depth.taken)
        AGE.labels(stream).set(depth.age_s)
    for skill, count in alive.items():
        AGENTS.labels(str(skill)).set(count)
    DEAD_LETTERS.set(dead)
