"""The answer to a client is read up to a limit."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from quartet_process.bounded_answers import AnswerTooLongError, BoundedTransport

MAX_ANSWER_BYTES = 32 * 1024 * 1024
CHUNK = b" " * 65536


class Body(httpx2.AsyncByteStream):
    """As many bytes as are read, or `chunks` chunks."""

    def __init__(self, chunks: int | None) -> None:
        self.chunks, self.sent = chunks, 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.chunks is None or self.sent < self.chunks:
            self.sent += 1
            yield CHUNK


async def post(body: Body, **headers: str) -> httpx2.Response:
    sent = {"content-type": "application/json"} | {name.replace("_", "-"): text for name, text in headers.items()}
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, headers=sent, stream=body))
    async with httpx2.AsyncClient(transport=BoundedTransport(inner, MAX_ANSWER_BYTES)) as client:
        return await client.post("http://upstream/mcp")


async def test_an_answer_without_end_is_given_up():
    body = Body(None)
    with pytest.raises(AnswerTooLongError, match=f"longer than {MAX_ANSWER_BYTES} bytes"):
        await post(body)
    assert body.sent <= MAX_ANSWER_BYTES // len(CHUNK) + 1


async def test_pictures_fit():
    assert len((await post(Body(MAX_ANSWER_BYTES // len(CHUNK)))).content) == MAX_ANSWER_BYTES


async def test_an_answer_that_would_grow_when_it_is_unpacked_is_not_unpacked():
    with pytest.raises(AnswerTooLongError, match="compressed"):
        await post(Body(1), content_encoding="gzip")


async def test_a_stream_of_events_has_no_end_only_where_that_is_wanted():
    body = Body(None)
    with pytest.raises(AnswerTooLongError, match="longer"):
        await post(body, content_type="text/event-stream")
    inner = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Body(20))
    )
    async with httpx2.AsyncClient(transport=BoundedTransport(inner, len(CHUNK), event_streams=True)) as client:
        assert len((await client.get("http://server/")).content) == 20 * len(CHUNK)
