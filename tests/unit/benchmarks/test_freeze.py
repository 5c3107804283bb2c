"""Processes that the chaos suite freezes go on afterwards."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from quartet_benchmarks.chaos.freeze import frozen
from quartet_deployment import Stack


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    started = [subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) for _ in range(2)]
    yield started
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.timeout(60)
async def test_when_one_has_died_meanwhile_the_other_goes_on(
    processes: list[subprocess.Popen[bytes]], until: Callable[..., Awaitable[Any]]
) -> None:
    first, second = processes
    stack = cast("Stack", SimpleNamespace(pids=lambda: {"first": first.pid, "second": second.pid}))
    left = psutil.Process(second.pid)
    with frozen(stack, ["first", "second"]):
        await until(lambda: left.status() == psutil.STATUS_STOPPED)
        first.kill()
        first.wait()
    await until(lambda: left.status() != psutil.STATUS_STOPPED)
