"""An ASGI application on a port of this machine, in the event loop of a test."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, Literal

import uvicorn


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
