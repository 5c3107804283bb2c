"""Transport of an HTTP client that reads no more of an answer than a limit, whoever answers.

A server that another process replaced, or that was taken over, must not fill the memory of those who ask it. Not
imported by the package itself, so that a process without such a client needs no httpx2.
"""

from collections.abc import AsyncIterator
from typing import cast

import httpx2

CONTROL_BYTES = 1024 * 1024
"""Limit for the answer to an order or a question about state, which needs a few kilobytes."""


class AnswerTooLongError(httpx2.StreamError, httpx2.RemoteProtocolError):
    """An answer has more bytes than are read of it, or is compressed and may grow beyond them."""


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Transport that reads at most `most_bytes` of each answer. Raises AnswerTooLongError for a longer one.

    With `event_streams` those have no limit as a whole: who reads them must limit each event.
    """

    def __init__(
        self, inner: httpx2.AsyncBaseTransport, most_bytes: int = CONTROL_BYTES, *, event_streams: bool = False
    ) -> None:
        self._inner, self._most_bytes, self._event_streams = inner, most_bytes, event_streams

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send `request`, which asks for an answer that is not compressed, and bound the answer."""
        request.headers["Accept-Encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise AnswerTooLongError("the answer is compressed, which was not asked for")
        streams = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        if not (streams and self._event_streams):
            response.stream = _BoundedStream(cast(httpx2.AsyncByteStream, response.stream), self._most_bytes)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


def control_client(timeout_s: float | None = None, limits: httpx2.Limits | None = None) -> httpx2.AsyncClient:
    """Return a client for orders and questions about state; the environment's proxies do not count.

    `timeout_s` [s] limits each step of a request. A server that drips its answer exceeds it: whoever needs an end of
    the whole has a time limit of his own.
    """
    inner = httpx2.AsyncHTTPTransport(limits=limits or httpx2.Limits(), trust_env=False)
    return httpx2.AsyncClient(transport=BoundedTransport(inner), timeout=timeout_s, trust_env=False)


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, most_bytes: int) -> None:
        self._inner, self._most_bytes = inner, most_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most_bytes
        async for chunk in self._inner:
            left -= len(chunk)
            if left < 0:
                raise AnswerTooLongError(f"the answer is longer than {self._most_bytes} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
