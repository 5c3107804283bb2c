"""Shows a caller that waits for a model that the gateway is alive: white space ahead of the answer.

A model may think for minutes, and a gateway that vanishes closes no connection: without a sign of life a caller could
not tell one from the other. White space before a JSON document belongs to it, so that nobody has to cut it off.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any

from starlette.responses import JSONResponse, Response, StreamingResponse

from quartet_contracts import KEEPALIVE_HEADER
from quartet_gateway.errors import GatewayError, wire

KEEPALIVE_S = 15.0
"""While a model is asked, something is written this often."""


def announcement() -> dict[str, str]:
    """Return the header that tells a caller how often a byte comes."""
    return {KEEPALIVE_HEADER: f"{KEEPALIVE_S:g}"}


async def respond(headers: Mapping[str, str], answer: Coroutine[Any, Any, dict[str, Any]]) -> Response:
    """Return the response with the body `answer`, for the request with `headers`.

    A caller that sends KEEPALIVE_HEADER is told in the same header how often a byte comes. What takes longer begins
    with status 200, so that a later error is the body alone. Raises GatewayError for one before.
    """
    if KEEPALIVE_HEADER not in headers:
        return JSONResponse(await answer)
    told = announcement()
    asking = asyncio.create_task(answer)
    # Nobody may be left to read why it failed.
    asking.add_done_callback(lambda task: task.cancelled() or task.exception())
    try:
        done, _ = await asyncio.wait({asking}, timeout=KEEPALIVE_S)
    except asyncio.CancelledError:
        asking.cancel()
        raise
    if done:
        return JSONResponse(asking.result(), headers=told)
    return StreamingResponse(_patiently(asking), media_type="application/json", headers=told)


async def _patiently(asking: "asyncio.Task[dict[str, Any]]") -> AsyncIterator[bytes]:
    """Yield white space until there is an answer, then the answer; a caller that leaves ends the question."""
    try:
        yield b" "
        while not (await asyncio.wait({asking}, timeout=KEEPALIVE_S))[0]:
            yield b" "
        try:
            body = asking.result()
        except GatewayError as error:
            body = wire(error)
        yield json.dumps(body).encode()
    finally:
        asking.cancel()
