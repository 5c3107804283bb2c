"""HTTP clients that read no more of an answer than a limit, whoever answers.

A server that another process replaced, or that was taken over, must not fill the memory of those who ask it. Not
imported by the package itself, so that a process without such a client needs no httpx2.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

import httpx2

from quartet_process.proxies import NO_PROXIES, uses_proxy

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
        if _is_compressed(response):
            await response.aclose()
            raise AnswerTooLongError(_COMPRESSED)
        if not (self._event_streams and _is_event_stream(response)):
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


def blocking_client(
    most_bytes: int = CONTROL_BYTES, *, base_url: str = "", headers: dict[str, str] | None = None, **more: Any
) -> httpx2.Client:
    """Return a client that blocks; `more` goes to httpx2.Client.

    `most_bytes` limits each answer, and of an event stream each event. Raises AnswerTooLongError for a longer one.
    A proxy of the environment is used only for a `base_url` outside the site.
    """
    given = {**(headers or {}), "Accept-Encoding": "identity"}
    mounts = None if base_url and uses_proxy(base_url) else dict(NO_PROXIES)
    hooks = {"response": [_limit(most_bytes)]}
    return httpx2.Client(base_url=base_url, headers=given, mounts=mounts, event_hooks=hooks, **more)


def _limit(most_bytes: int) -> Callable[[httpx2.Response], None]:
    def limit(response: httpx2.Response) -> None:
        if _is_compressed(response):
            raise AnswerTooLongError(_COMPRESSED)
        inner = cast(httpx2.SyncByteStream, response.stream)
        response.stream = _BlockingBoundedStream(inner, most_bytes, events=_is_event_stream(response))

    return limit


def _is_compressed(response: httpx2.Response) -> bool:
    return response.headers.get("content-encoding", "identity").lower() != "identity"


def _is_event_stream(response: httpx2.Response) -> bool:
    return response.headers.get("content-type", "").lower().startswith("text/event-stream")


_COMPRESSED = "the answer is compressed, which was not asked for"


class _BlockingBoundedStream(httpx2.SyncByteStream):
    def __init__(self, inner: httpx2.SyncByteStream, most_bytes: int, *, events: bool) -> None:
        self._inner, self._most_bytes, self._events = inner, most_bytes, events

    def __iter__(self) -> Iterator[bytes]:
        left, end = self._most_bytes, b""
        for chunk in self._inner:
            left -= len(chunk)
            if left < 0:
                raise AnswerTooLongError(f"the answer is longer than {self._most_bytes} bytes")
            # An empty line ends an event.
            end = (end + chunk).replace(b"\r", b"")
            if self._events and b"\n\n" in end:
                left = self._most_bytes
            end = end[-1:]
            yield chunk

    def close(self) -> None:
        self._inner.close()


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
