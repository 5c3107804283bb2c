"""Responses that break on their way."""

import asyncio
from collections.abc import AsyncIterator

from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from quartet_scripted_model.misbehaviour import Kind

PAGE = "<html><head><title>502</title></head><body><h1>Bad Gateway</h1><hr>proxy</body></html>"


def spoiled_response(kind: Kind, whole: bytes, drip_s: float) -> Response:
    """Return the response that delivers `whole` with the transport fault `kind`."""
    match kind:
        case Kind.HTML:
            return HTMLResponse(PAGE)
        case Kind.CUT_BODY:
            return Response(whole[: len(whole) // 2], media_type="application/json")
        case Kind.DRIP:
            return StreamingResponse(_drip(whole, drip_s), media_type="application/json")
        case Kind.RESET:
            return _Broken(whole)
        case _:
            return _Silence()


async def _drip(whole: bytes, every_s: float) -> AsyncIterator[bytes]:
    for byte in whole:
        yield bytes([byte])
        await asyncio.sleep(every_s)


class _Silence(Response):
    """Response that never comes, until the caller gives up or the server ends."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass


class _Broken(Response):
    """Response that announces its whole length, sends half of it and drops the connection."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        # uvicorn closes the connection of an application that returns before its answer is complete.
        await send({"type": "http.response.body", "body": self.body[: len(self.body) // 2], "more_body": True})
