"""taskiq with taskiq-redis: a task on a stream with a group, its result kept in Redis and polled by the caller."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bus_client import ANSWER_S, Asking, Given, Message, given, main, result_of
from taskiq.api import run_receiver_task
from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

POLL_S = 0.002
"""Period in which the result is looked up; taskiq's own is 0.2 s, which would be all that is measured."""

told = given()
results: RedisAsyncResultBackend[Any] = RedisAsyncResultBackend(told.url, result_ex_time=3600)
broker = RedisStreamBroker(told.url, queue_name="taskiq:requests").with_result_backend(results)


@broker.task
async def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Answer a request."""
    return result_of(told, request)


@asynccontextmanager
async def answering(_: Given) -> AsyncIterator[str]:
    """Run a worker in this process."""
    broker.is_worker_process = True
    working = asyncio.create_task(run_receiver_task(broker, run_startup=True))
    yield told.url
    working.cancel()


@asynccontextmanager
async def asking(_: Given) -> AsyncIterator[Asking]:
    """Send a task and poll for its result."""
    await broker.startup()

    async def ask(request: Message) -> Message:
        task = await answer.kiq(request)
        return (await task.wait_result(check_interval=POLL_S, timeout=ANSWER_S)).return_value

    yield Asking(ask)
    await broker.shutdown()


if __name__ == "__main__":
    main(answering, asking)
