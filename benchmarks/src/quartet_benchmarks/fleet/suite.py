"""Runs the parts of the suite and sums up their results."""

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quartet_benchmarks.fleet.crossing import CrossingRun, cross
from quartet_benchmarks.fleet.fleet_load import FleetLoad, LoadResult, run_tasks
from quartet_benchmarks.fleet.latency import RATE_PER_S, answering, measure
from quartet_benchmarks.fleet.redis_process import RedisProcess
from quartet_benchmarks.result import BenchParameters, BenchResult, Rate, percentile
from quartet_deployment import Stack, StackOptions, state_folder
from quartet_site import load_site

FEW, MANY = 10, 1000
"""Numbers of robots whose streams are in one Redis."""
ROUNDS = 3
FSYNCS = 200
AGENT = "approach"
"""Agent whose work needs no object in the world."""


@dataclass(frozen=True)
class Sizes:
    """Sizes of the parts."""

    requests: int
    """Requests in each round of each case."""
    tasks: int
    robots: int
    replicas: int
    crash_tasks: int
    crash_robots: int
    crash_replicas: int
    crash_every_s: float
    limit_s: float
    crossings: int
    """Episodes of two robots in one home."""


LONG = Sizes(1000, 50, 10, 2, 500, 50, 4, 10.0, 1800.0, 12)
SHORT = Sizes(250, 12, 4, 1, 24, 4, 1, 0.8, 25.0, 0)


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; `episodes` is the number of tasks while Redis crashes. Raises StackError."""
    sizes = SHORT if parameters.short else LONG
    crash_tasks = parameters.episodes or sizes.crash_tasks
    progress, rows = parameters.progress, list[dict[str, Any]]()
    metrics: dict[str, float | Rate] = {}
    _bus(sizes, parameters.seed, metrics, rows, progress)
    calm, crashed = _load_tasks(sizes, crash_tasks, progress)
    metrics |= {
        "queue_age_s_p50": percentile(calm.queue_age_s, 0.50),
        "queue_age_s_p99": percentile(calm.queue_age_s, 0.99),
        "tasks_per_s": calm.accepted / calm.wall_s,
        "tasks_lost": Rate(len(calm.lost) + len(crashed.lost), calm.accepted + crashed.accepted),
        "tasks_succeeded": Rate(
            calm.states["SUCCEEDED"] + crashed.states["SUCCEEDED"], calm.accepted + crashed.accepted
        ),
        "redis_crashes": crashed.restarts,
    }
    crossed = _crossings(sizes.crossings, parameters)
    metrics |= _of_crossings(crossed)
    rows += [_row("tasks at once", sizes.robots, sizes.replicas, calm)]
    rows += [_row("Redis killed now and then", sizes.crash_robots, sizes.crash_replicas, crashed)]
    return BenchResult(
        "fleet",
        {
            "seed": parameters.seed,
            "sensors": parameters.sensors,
            "requests_per_s": RATE_PER_S,
            "requests": sizes.requests * ROUNDS,
            "tasks": sizes.tasks,
            "robots": sizes.robots,
            "replicas_per_agent": sizes.replicas,
            "crash_tasks": crash_tasks,
            "crash_robots": sizes.crash_robots,
            "crash_every_s": sizes.crash_every_s,
            "crossings": sizes.crossings,
        },
        metrics,
        rows,
        [*({"lost": name} for name in (*calm.lost, *crashed.lost)), *(one.row() for one in crossed)],
        [
            f"bus: from a skill's request to its result at {RATE_PER_S} requests/s (open loop), agents that answer at "
            f"once, {FEW} or {MANY} robots' streams in one Redis in turn; durable: appendfsync always, of which a "
            "request waits for three, one after the other; fsync: one write of 600 bytes and its fdatasync, beside it. "
            "tasks: 'go to the kitchen' and the like for no named robot, with a real orchestrator and approach agents, "
            "grants, fences and journals, a Redis with appendfsync always, the scripted model, and motions that take "
            "no time. queue_age: from a skill's request to its start by an agent. lost: accepted, and in no terminal "
            "state when the time was over.",
            "crossing: two robots in the simulated home, each fetches where the other puts down, both jobs at once; a "
            "job counts when it SUCCEEDED and the thing lies there by ground truth. Contacts of any parts of both, and "
            "of what they hold, are counted in every step of the physics. Not in the short form.",
        ],
    )


def _bus(
    sizes: Sizes,
    seed: int,
    metrics: dict[str, float | Rate],
    rows: list[dict[str, Any]],
    progress: Callable[[str], None],
) -> None:
    few: list[float] = []
    many: list[float] = []
    durable: list[float] = []
    with RedisProcess(None) as redis, RedisProcess(None) as crowded, answering(redis.url), answering(crowded.url):
        for number in range(ROUNDS):
            # In turn, so that other work of the machine slows both alike.
            few += asyncio.run(measure(redis, sizes.requests, FEW, seed + number))
            many += asyncio.run(measure(crowded, sizes.requests, MANY, seed + number))
        memory = crowded.memory_mb()
    with RedisProcess("always") as redis, answering(redis.url):
        for number in range(ROUNDS):
            durable += asyncio.run(measure(redis, sizes.requests, FEW, seed + number))
    fsync = fsync_ms()
    metrics |= {
        "bus_ms_p50": percentile(few, 0.50),
        "bus_ms_p99": percentile(few, 0.99),
        "bus_durable_ms_p50": percentile(durable, 0.50),
        "bus_durable_ms_p99": percentile(durable, 0.99),
        "fsync_ms_p50": percentile(fsync, 0.50),
        "bus_ms_p50_1000_robots": percentile(many, 0.50),
        "bus_p50_1000_over_10_robots": percentile(many, 0.50) / percentile(few, 0.50),
        "redis_mb_1000_robots": memory,
    }
    for name, robots, times in (("bus", FEW, few), ("bus", MANY, many), ("bus, durable", FEW, durable)):
        row = {f"p{share}_ms": percentile(times, share / 100) for share in (50, 95, 99)}
        rows.append({"case": name, "robots": robots, "n": len(times), **row})
        progress(f"{name}, {robots} robots: p50 {row['p50_ms']:.2f} ms, p99 {row['p99_ms']:.2f} ms")


def _crossings(count: int, parameters: BenchParameters) -> list[CrossingRun]:
    if not count:
        return []
    folder = state_folder() / "bench-fleet"
    options = StackOptions(state_dir=folder, fresh=True, world="home", robots=2, sensors=parameters.sensors)
    crossed: list[CrossingRun] = []
    with Stack(options) as stack:
        site = load_site(stack.site_dir / "site.yaml")
        for number in range(count):
            one = cross(stack, site, parameters.seed * 10_000 + number)
            crossed.append(one)
            codes = f" [{', '.join(one.codes)}]" if one.codes else ""
            parameters.progress(f"crossing {number + 1}: {sum(one.succeeded)} of 2 jobs, {one.wall_s:.0f} s{codes}")
    return crossed


def _of_crossings(crossed: list[CrossingRun]) -> dict[str, float | Rate]:
    if not crossed:
        return {}
    jobs = 2 * len(crossed)
    return {
        "crossing_success_rate": Rate(sum(sum(one.succeeded) for one in crossed), jobs),
        "crossing_false_successes": Rate(sum(one.false_successes for one in crossed), jobs),
        "crossings_with_contact": Rate(sum(bool(one.contacts) for one in crossed), len(crossed)),
        "crossing_wall_s_p50": percentile([one.wall_s for one in crossed], 0.50),
        "crossing_sim_s_p50": percentile([one.sim_s for one in crossed], 0.50),
    }


def _load_tasks(sizes: Sizes, crash_tasks: int, progress: Callable[[str], None]) -> tuple[LoadResult, LoadResult]:
    """Run the tasks without and with crashes; parts of the same size share their processes."""
    same = (sizes.robots, sizes.replicas) == (sizes.crash_robots, sizes.crash_replicas)
    with tempfile.TemporaryDirectory(prefix="quartet-bench-") as folder, RedisProcess("always") as redis:
        load = FleetLoad(redis, Path(folder), sizes.robots, sizes.replicas, (AGENT,))
        try:
            load.start()
            calm = _play(load, redis, sizes.tasks, None, sizes.limit_s, progress)
            if same:
                return calm, _play(load, redis, crash_tasks, sizes.crash_every_s, sizes.limit_s, progress)
        finally:
            load.close()
    with tempfile.TemporaryDirectory(prefix="quartet-bench-") as folder, RedisProcess("always") as redis:
        load = FleetLoad(redis, Path(folder), sizes.crash_robots, sizes.crash_replicas, (AGENT,))
        try:
            load.start()
            return calm, _play(load, redis, crash_tasks, sizes.crash_every_s, sizes.limit_s, progress)
        finally:
            load.close()


def _play(
    load: FleetLoad,
    redis: RedisProcess,
    count: int,
    every_s: float | None,
    limit_s: float,
    progress: Callable[[str], None],
) -> LoadResult:
    ended = asyncio.run(run_tasks(load, redis, count, crash_every_s=every_s, limit_s=limit_s))
    states = ", ".join(f"{number} {state}" for state, number in sorted(ended.states.items()))
    progress(
        f"{count} tasks over {len(load.robots)} robots, {ended.restarts} crashes of Redis: {states or 'none ended'}"
    )
    return ended


def _row(case: str, robots: int, replicas: int, ended: LoadResult) -> dict[str, Any]:
    return {
        "case": case,
        "robots": robots,
        "replicas": replicas,
        "n": ended.accepted,
        "succeeded": ended.states["SUCCEEDED"],
        "lost": len(ended.lost),
        "crashes": ended.restarts,
        "wall_s": ended.wall_s,
        "queue_age_p99_s": percentile(ended.queue_age_s, 0.99),
        "task_wait_p99_s": percentile(ended.wait_s, 0.99),
    }


def fsync_ms() -> list[float]:
    """Return the times of durable writes of 600 bytes to this machine's disk [ms]."""
    times: list[float] = []
    with tempfile.TemporaryFile(buffering=0) as file:
        for _ in range(FSYNCS):
            file.write(b"x" * 600)
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - begun) * 1e3)
    return times
