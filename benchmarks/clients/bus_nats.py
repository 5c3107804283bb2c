"""NATS: requests to a queue group (nats://), or through a JetStream work queue on disk (jetstream+nats://)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats
from bus_client import ANSWER_S, Asking, Given, Message, main, result_of
from nats.aio.msg import Msg
from nats.js.api import RetentionPolicy, StorageType

CORE, STREAM, SUBJECT, GROUP, REPLY = "core.requests", "requests", "stream.requests", "workers", "Reply"


def _server(told: Given) -> tuple[str, bool]:
    """Return the server's URL, and whether requests go through JetStream."""
    return told.url.removeprefix("jetstream+"), told.url.startswith("jetstream+")


@asynccontextmanager
async def answering(told: Given) -> AsyncIterator[str]:
    """Answer in a callback; from a stream also acknowledge."""
    url, durable = _server(told)
    connection = await nats.connect(url)

    async def answer(message: Msg) -> None:
        result = json.dumps(result_of(told, json.loads(message.data))).encode()
        if durable:
            await connection.publish((message.headers or {})[REPLY], result)
            await message.ack()
        else:
            await message.respond(result)

    if durable:
        stream = connection.jetstream()
        await stream.add_stream(
            name=STREAM, subjects=[SUBJECT], storage=StorageType.FILE, retention=RetentionPolicy.WORK_QUEUE
        )
        await stream.subscribe(SUBJECT, durable=GROUP, cb=answer, manual_ack=True)
    else:
        await connection.subscribe(CORE, queue=GROUP, cb=answer)
    await connection.flush()
    yield told.url
    await connection.close()


@asynccontextmanager
async def asking(told: Given) -> AsyncIterator[Asking]:
    """Send a request and wait; to a stream also for its acknowledgement."""
    url, durable = _server(told)
    connection = await nats.connect(url)
    if not durable:

        async def ask(request: Message) -> Message:
            return json.loads((await connection.request(CORE, json.dumps(request).encode(), timeout=ANSWER_S)).data)

    else:
        stream, inbox = connection.jetstream(), connection.new_inbox()
        waiting: dict[str, asyncio.Future[Message]] = {}

        async def take(message: Msg) -> None:
            result = json.loads(message.data)
            waiting.pop(result["request_id"]).set_result(result)

        await connection.subscribe(inbox, cb=take)

        async def ask(request: Message) -> Message:
            future = waiting[request["request_id"]] = asyncio.get_running_loop().create_future()
            await stream.publish(SUBJECT, json.dumps(request).encode(), headers={REPLY: inbox})
            return await future

    yield Asking(ask)
    await connection.close()


if __name__ == "__main__":
    main(answering, asking)
