"""gRPC: one unary call from process to process, messages as JSON; nothing is kept and nobody stands between them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc  # pyright: ignore[reportMissingModuleSource]
from bus_client import Asking, Given, Message, main, result_of

SERVICE, METHOD = "quartet.Agent", "Do"


def _bytes(message: Message) -> bytes:
    return json.dumps(message).encode()


@asynccontextmanager
async def answering(told: Given) -> AsyncIterator[str]:
    """Listen on a free port."""
    server = grpc.aio.server()

    async def answer(request: Message, _: object) -> Message:
        return result_of(told, request)

    handler = grpc.unary_unary_rpc_method_handler(answer, json.loads, _bytes)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(None)


@asynccontextmanager
async def asking(told: Given) -> AsyncIterator[Asking]:
    """Call."""
    async with grpc.aio.insecure_channel(told.url) as channel:
        call = channel.unary_unary(f"/{SERVICE}/{METHOD}", _bytes, json.loads)

        async def ask(request: Message) -> Message:
            return await call(request)

        yield Asking(ask)


if __name__ == "__main__":
    main(answering, asking)
