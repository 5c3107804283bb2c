"""What both sides of every bus here do: answer each request at once, or send requests one by one and time them.

The clients run in environments of their own, so that nothing here imports more than the standard library. A script is
started as `python SCRIPT.py answer GIVEN` or `python SCRIPT.py ask GIVEN`; GIVEN is a JSON object with the `url` of the
bus, and the `request` and the `result` that go over it.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

ANSWER_S = 30.0
"""Longest time of one request: a bus that loses one must not hold up the run for ever [s]."""

Message = dict[str, Any]
Ask = Callable[[Any], Awaitable[Any]]
"""Sends a request and returns its result."""


@dataclass(frozen=True)
class Given:
    """What a client is told."""

    url: str
    request: Message
    result: Message


@dataclass(frozen=True)
class Asking:
    """The side that sends requests."""

    ask: Ask
    make: Callable[[str], Any] | None = None
    """Makes the request with an id, before its time begins; None: a copy of the given one with that id."""
    id_of: Callable[[Any], str] = lambda result: result["request_id"]
    """Returns the id of the request that a result answers."""


def given() -> Given:
    """Return what this client is told on its command line."""
    return Given(**json.loads(sys.argv[2]))


def result_of(told: Given, request: Message) -> Message:
    """Return the result of a request."""
    return {**told.result, "request_id": request["request_id"], "task_id": request["task_id"]}


def tell(**figures: Any) -> None:
    """Write a line that the benchmark reads."""
    print(json.dumps(figures), flush=True)


async def _measure(told: Given, asking: Asking, count: int) -> list[float]:
    times: list[float] = []
    for _ in range(count):
        identity = f"r-{time.monotonic_ns():016x}"
        request = asking.make(identity) if asking.make else {**told.request, "request_id": identity}
        begun = time.perf_counter()
        result = await asyncio.wait_for(asking.ask(request), ANSWER_S)
        times.append(time.perf_counter() - begun)
        if asking.id_of(result) != identity:
            raise RuntimeError(f"asked for {identity}, got the result of {asking.id_of(result)}")
    return times


Answering = Callable[[Given], AbstractAsyncContextManager[str]]
"""Answers while it is open; yields the URL for the other side: the one given, unless it listens itself."""


def main(answering: Answering, asking: Callable[[Given], AbstractAsyncContextManager[Asking]]) -> None:
    """Be the side that the command line says."""
    if sys.argv[1] == "answer":
        asyncio.run(_answer(answering))
    else:
        ask(asking)


def ask(asking: Callable[[Given], AbstractAsyncContextManager[Asking]]) -> None:
    """Time as many requests as each line of the standard input says, until it ends."""

    async def serve() -> None:
        told = given()
        async with asking(told) as side:
            tell(url=told.url)
            while line := await asyncio.to_thread(sys.stdin.readline):
                tell(times_s=await _measure(told, side, int(line)))

    asyncio.run(serve())


async def _answer(answering: Answering) -> None:
    async with answering(given()) as url:
        tell(url=url)
        while await asyncio.to_thread(sys.stdin.readline):
            pass
