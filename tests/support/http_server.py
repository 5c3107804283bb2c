"""Servers on ports of this machine, in the event loop of a test: an ASGI application, and one that never ends."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, Literal

import uvicorn

ENDLESS_BYTES = 64 * 1024 * 1024
"""What an answer without end has at most, so that a reader without a limit ends as well."""


@contextlib.asynccontextmanager
async def serve_app(
    app: Any, *, lifespan: Literal["auto", "on", "off"] = "auto", force: bool = False
) -> AsyncIterator[str]:
    """Serve `app` and yield its base URL, such as `http://127.0.0.1:40123`.

    Open requests have one second to end; with `force` they are cut off. An error at the start is raised here.
    """
    server = uvicorn.Server(
        uvicorn.Config(app, port=0, log_config=None, access_log=False, lifespan=lifespan, timeout_graceful_shutdown=1)
    )
    # The signals belong to pytest.
    server.capture_signals = contextlib.nullcontext  # pyright: ignore[reportAttributeAccessIssue]
    serving = asyncio.create_task(server.serve())
    while not server.started:  # uvicorn has no event for it
        if serving.done():
            serving.result()
            raise AssertionError("the server ended before it had started")
        await asyncio.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit, server.force_exit = True, force
        await serving


@contextlib.asynccontextmanager
async def serve_endless_answers() -> AsyncIterator[tuple[str, list[int]]]:
    """Serve JSON answers without end; yield the base URL, and the bytes that were sent of each."""
    sent: list[int] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        sent.append(0)
        chunk = b" " * 65536
        with contextlib.suppress(ConnectionError):
            while sent[-1] < ENDLESS_BYTES:
                writer.write(chunk)
                await writer.drain()
                sent[-1] += len(chunk)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", sent
