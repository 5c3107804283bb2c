"""Redis streams by hand: XADD, XREADGROUP and XACK on one stream, the result on another, and nothing besides."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bus_client import Asking, Given, Message, main, result_of
from redis.asyncio import Redis
from redis.exceptions import ResponseError

REQUESTS, RESULTS, GROUP = "bare:requests", "bare:results", "workers"
BLOCK_MS = 2000


@asynccontextmanager
async def answering(told: Given) -> AsyncIterator[str]:
    """Take requests as the one consumer of a group."""
    redis = Redis.from_url(told.url)
    try:
        await redis.xgroup_create(REQUESTS, GROUP, id="0", mkstream=True)
    except ResponseError as error:
        if "BUSYGROUP" not in str(error):
            raise

    async def work() -> None:
        while True:
            answer: Any = await redis.xreadgroup(GROUP, "one", {REQUESTS: ">"}, count=1, block=BLOCK_MS)
            for _, entries in answer:
                for entry, fields in entries:
                    result = result_of(told, json.loads(fields[b"m"]))
                    async with redis.pipeline(transaction=False) as pipe:
                        pipe.xadd(RESULTS, {"m": json.dumps(result)})
                        pipe.xack(REQUESTS, GROUP, entry)
                        await pipe.execute()

    working = asyncio.create_task(work())
    yield told.url
    working.cancel()
    await redis.aclose()


@asynccontextmanager
async def asking(told: Given) -> AsyncIterator[Asking]:
    """Send a request, then read the stream of results from where it was."""
    redis = Redis.from_url(told.url)
    last: bytes | str = "0"

    async def ask(request: Message) -> Message:
        nonlocal last
        await redis.xadd(REQUESTS, {"m": json.dumps(request)})
        while True:
            answer: Any = await redis.xread({RESULTS: last}, count=1, block=BLOCK_MS)
            for _, entries in answer:
                last, fields = entries[0]
                return json.loads(fields[b"m"])

    yield Asking(ask)
    await redis.aclose()


if __name__ == "__main__":
    main(answering, asking)
