"""FastStream on Redis: a subscriber with a group on one stream, the result on another, matched by its id.

Its own `request()`, which answers by pub/sub, is slower than that.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bus_client import Asking, Given, Message, main, result_of
from faststream.redis import RedisBroker, StreamSub

REQUESTS, RESULTS, GROUP = "faststream:requests", "faststream:results", "workers"


@asynccontextmanager
async def answering(told: Given) -> AsyncIterator[str]:
    """Answer with the value that the handler returns."""
    broker = RedisBroker(told.url, logger=None)

    @broker.subscriber(stream=StreamSub(REQUESTS, group=GROUP, consumer="one"))
    @broker.publisher(stream=RESULTS)
    async def answer(request: dict[str, Any]) -> dict[str, Any]:
        return result_of(told, request)

    async with broker:
        await broker.start()
        yield told.url


@asynccontextmanager
async def asking(told: Given) -> AsyncIterator[Asking]:
    """Publish a request, and wait for the subscriber of the results."""
    broker = RedisBroker(told.url, logger=None)
    waiting: dict[str, asyncio.Future[Message]] = {}

    @broker.subscriber(stream=StreamSub(RESULTS, group="askers", consumer="one"))
    async def take(result: dict[str, Any]) -> None:
        waiting.pop(result["request_id"]).set_result(result)

    async def ask(request: Message) -> Message:
        future = waiting[request["request_id"]] = asyncio.get_running_loop().create_future()
        await broker.publish(request, stream=REQUESTS)
        return await future

    async with broker:
        await broker.start()
        yield Asking(ask)


if __name__ == "__main__":
    main(answering, asking)
