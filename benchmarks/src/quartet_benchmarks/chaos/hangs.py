"""Jobs in the small world in which something hangs, or a disk or a network fails, for a while; then all goes on."""

import contextlib
import itertools
import os
import random
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import psutil

from quartet_benchmarks.chaos.crashes import MOMENTS
from quartet_benchmarks.chaos.job import Job, Score
from quartet_benchmarks.chaos.redis_proxy import RedisProxy
from quartet_deployment import ClientError, Stack

Trouble = Callable[[Stack, RedisProxy], AbstractContextManager[None]]
"""Opened when the trouble begins and closed when it is over."""
DELAY_S = 0.3
"""How late each command reaches Redis on a slow network; more than a heartbeat, less than a lease."""


@contextlib.contextmanager
def _frozen(stack: Stack, *names: str) -> Iterator[None]:
    pids = [stack.pids()[name] for name in names]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


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
def _slow(proxy: RedisProxy) -> Iterator[None]:
    proxy.delay_s = DELAY_S
    try:
        yield
    finally:
        proxy.delay_s = 0.0


TROUBLES: dict[str, Trouble] = {
    "stop service and gateway frozen": lambda stack, _: _frozen(stack, "stop", "gateway"),
    "simulation frozen": lambda stack, _: _frozen(stack, "simulation"),
    "disk full": lambda stack, _: _full_disk(stack),
    "connections to Redis half open": lambda _, proxy: _half_open(proxy),
    "Redis reached slowly": lambda _, proxy: _slow(proxy),
}
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


def play_hang(stack: Stack, proxy: RedisProxy, trouble: str, moment: str, seed: int) -> HangRun:
    """Run one job in which `trouble` begins at `moment` and lasts for LASTS_S."""
    job, happened = Job.begin(stack, seed), False
    with contextlib.ExitStack() as during:
        try:
            for event in job.follow():
                if not happened and MOMENTS[moment](event):
                    happened = True
                    during.enter_context(TROUBLES[trouble](stack, proxy))
                    # In a thread: the job is followed meanwhile, and its questions are answered.
                    over = threading.Timer(LASTS_S, during.pop_all().close)
                    during.callback(over.join)
                    over.start()
        except ClientError:
            # The journal broke off for good; the score shows it.
            pass
    return HangRun(trouble, moment, seed, job.score(), happened)
