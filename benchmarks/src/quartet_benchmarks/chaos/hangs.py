"""Jobs in the small world in which something hangs, or a disk or a network fails, for a while; then all goes on."""

import contextlib
import itertools
import random
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import psutil

from quartet_benchmarks.chaos.crashes import MOMENTS
from quartet_benchmarks.chaos.freeze import frozen
from quartet_benchmarks.chaos.job import Job, Score
from quartet_benchmarks.chaos.redis_proxy import RedisProxy
from quartet_benchmarks.chaos.small_world import CLOCKED, SmallWorld
from quartet_deployment import SERVERS, ClientError, Stack

Trouble = Callable[[SmallWorld], AbstractContextManager[None]]
"""Opened when the trouble begins and closed when it is over."""
DELAY_S = 0.3
"""How late each command reaches Redis on a slow network; more than a heartbeat, less than a lease."""
CLOCK_JUMP_S = 3600.0
"""As far as a clock is off that was set to another time zone; more than a grant or a task lasts."""


@contextlib.contextmanager
def _full_disk(stack: Stack) -> Iterator[None]:
    """Let no process but Redis and the simulation write to a file, as on a disk that is full."""
    limited: list[tuple[psutil.Process, tuple[int, int]]] = []
    for name, pid in stack.pids().items():
        if name not in {"redis", "simulation"}:
            process = psutil.Process(pid)
            limited.append((process, process.rlimit(resource.RLIMIT_FSIZE)))
            process.rlimit(resource.RLIMIT_FSIZE, (0, limited[-1][1][1]))
    try:
        yield
    finally:
        for process, before in limited:
            process.rlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def _half_open(proxy: RedisProxy) -> Iterator[None]:
    proxy.drop_connections()
    yield


@contextlib.contextmanager
def _silent(world: SmallWorld, *links: str) -> Iterator[None]:
    """Let connections to `links` fall silent: the peer has vanished, and nothing says so."""
    with contextlib.ExitStack() as during:
        for name in links:
            during.enter_context(world.links[name].silence())
        yield


@contextlib.contextmanager
def _slow(proxy: RedisProxy) -> Iterator[None]:
    proxy.delay_s = DELAY_S
    try:
        yield
    finally:
        proxy.delay_s = 0.0


def _clock(name: str, by_s: float) -> Trouble:
    return lambda world: world.clocks.shifted(name, by_s)


PASSING: dict[str, Trouble] = {
    "stop service and gateway frozen": lambda world: frozen(world.stack, ["stop", "gateway"]),
    "simulation frozen": lambda world: frozen(world.stack, ["simulation"]),
    "disk full": lambda world: _full_disk(world.stack),
    "connections to Redis half open": lambda world: _half_open(world.redis),
    "Redis reached slowly": lambda world: _slow(world.redis),
}
"""Troubles that cost time only."""
VANISHED: dict[str, Trouble] = {
    "rosbridge vanished": lambda world: _silent(world, "bridge"),
    "MCP servers vanished": lambda world: _silent(world, *SERVERS),
    "gateway vanished": lambda world: _silent(world, "gateway"),
}
"""Troubles in which connections stay open for good and pass nothing."""
CLOCKS: dict[str, Trouble] = {
    f"clock of {name} {abs(by_s):g} s {'ahead' if by_s > 0 else 'behind'}": _clock(name, by_s)
    for by_s in (CLOCK_JUMP_S, -CLOCK_JUMP_S)
    for name in CLOCKED
}
"""Wall clocks that jump, and jump back when the trouble is over."""
TROUBLES: dict[str, Trouble] = {**PASSING, **VANISHED, **CLOCKS}
LASTS_S = 8.0
"""Longer than a heartbeat, a lease and most time-outs of one call."""
EDGES: tuple[str, ...] = ("fingers closing", "fingers opening")
"""Moments of the two actions that must not happen twice."""


@dataclass
class HangRun:
    """Result of one job with a trouble in its middle."""

    trouble: str
    moment: str
    seed: int
    score: Score
    happened: bool
    """Whether the moment came before the end of the job."""

    def row(self) -> dict[str, Any]:
        """Return the row of this job in the JSON."""
        return {
            "trouble": self.trouble,
            "at": self.moment,
            "seed": self.seed,
            "happened": self.happened,
            **self.score.row(),
        }


def hangs(seed: int) -> list[tuple[str, str]]:
    """Return every trouble at each edge, in a random order."""
    pairs = list(itertools.product(TROUBLES, EDGES))
    random.Random(seed).shuffle(pairs)
    return pairs


def play_hang(world: SmallWorld, trouble: str, moment: str, seed: int) -> HangRun:
    """Run one job in which `trouble` begins at `moment` and lasts for LASTS_S."""
    job, happened = Job.begin(world.stack, seed), False
    with contextlib.ExitStack() as during:
        try:
            for event in job.follow():
                if not happened and MOMENTS[moment](event):
                    happened = True
                    during.enter_context(TROUBLES[trouble](world))
                    # In a thread: the job is followed meanwhile, and its questions are answered.
                    over = threading.Timer(LASTS_S, during.pop_all().close)
                    during.callback(over.join)
                    over.start()
        except ClientError:
            # The journal broke off for good; the score shows it.
            pass
    return HangRun(trouble, moment, seed, job.score(), happened)
