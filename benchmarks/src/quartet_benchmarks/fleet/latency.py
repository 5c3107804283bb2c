"""Latency of the bus from a request to its result, with agents that answer at once."""

import asyncio
import random
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from quartet_benchmarks.errors import MeasurementError
from quartet_benchmarks.fleet.instant_agents import OPTIONS
from quartet_benchmarks.fleet.redis_process import RedisProcess
from quartet_bus import Bus, Replies
from quartet_contracts import Budget, PickArguments, Skill, SkillRequest, Task

RATE_PER_S = 200
REPLICAS = 4
WARM_UP = 100


@contextmanager
def answering(url: str, replicas: int = REPLICAS) -> Iterator[None]:
    """Run a process with `replicas` of an agent that answers at once."""
    process = subprocess.Popen(
        [sys.executable, "-m", "quartet_benchmarks.fleet.instant_agents", url, str(replicas)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        if process.stdout.readline().strip() != "ready":
            raise MeasurementError("the agents of the benchmark did not come up")
        yield
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


async def measure(redis: RedisProcess, count: int, robots: int, seed: int) -> list[float]:
    """Return the times from request to result [ms] of `count` requests, sent at RATE_PER_S in an open loop.

    Each robot has a task stream with a waiting task; requests are for robots at random.
    """
    rng = random.Random(seed)
    async with await Bus.connect(redis.url, OPTIONS) as bus, bus.replies() as replies:
        for number in range(robots):
            if not await bus.robot_tasks(f"robot{number}").waiting():
                await bus.tasks.submit(_task(f"robot{number}"))
        times: list[float] = []
        asked: list[asyncio.Task[None]] = []
        begun = time.perf_counter()
        for index in range(count + WARM_UP):
            # Open loop: a slow answer does not hold back the next request.
            pause = begun + index / RATE_PER_S - time.perf_counter()
            if pause > 0:
                await asyncio.sleep(pause)
            robot = f"robot{rng.randrange(robots)}"
            asked.append(asyncio.create_task(_ask(bus, replies, robot, times if index >= WARM_UP else [])))
        await asyncio.gather(*asked)
        return times


async def _ask(bus: Bus, replies: Replies, robot: str, times: list[float]) -> None:
    request = _request(robot, replies.stream(Skill.PICK))
    begun = time.perf_counter()
    result = await replies.ask(bus.skills(Skill.PICK), request)
    times.append((time.perf_counter() - begun) * 1e3)
    assert result.request_id == request.request_id


def _request(robot: str, reply_to: str) -> SkillRequest:
    now = time.time()
    identity = secrets.token_hex(8)
    return SkillRequest(
        request_id=f"r-{identity}",
        task_id=f"t-{identity}",
        robot=robot,
        skill=Skill.PICK,
        created_at=now,
        deadline=now + 120,
        arguments=PickArguments(object_name="red coke can"),
        # It is as long as a signed grant.
        grant="g" * 420,
        reply_to=reply_to,
    )


def _task(robot: str) -> Task:
    now = time.time()
    return Task(
        task_id=f"waiting-{robot}",
        sentence="bring the red coke can to the sofa table",
        robot=robot,
        created_at=now,
        deadline=now + 3600,
        budget=Budget(),
    )
