"""The answer to a client is read up to a limit."""

from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest

from quartet_process.bounded_answers import AnswerTooLongError, BoundedTransport, blocking_client

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


class BlockingBody(httpx2.SyncByteStream):
    """Chunks without end."""

    def __init__(self, *chunks: bytes) -> None:
        self.chunks, self.sent = chunks, 0

    def __iter__(self) -> Iterator[bytes]:
        while self.sent < 10_000:
            yield self.chunks[self.sent % len(self.chunks)]
            self.sent += 1


def blocking(body: BlockingBody, **headers: str) -> httpx2.Client:
    sent = {name.replace("_", "-"): text for name, text in headers.items()}
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, headers=sent, stream=body))
    return blocking_client(1_000_000, transport=inner)


def test_a_client_that_blocks_gives_up_an_answer_without_end_too():
    body = BlockingBody(CHUNK)
    with blocking(body) as client, pytest.raises(AnswerTooLongError, match="longer than 1000000 bytes"):
        client.get("http://there/")
    assert body.sent <= 1_000_000 // len(CHUNK) + 1
    packed = BlockingBody(b"x")
    with blocking(packed, content_encoding="gzip") as client, pytest.raises(AnswerTooLongError, match="compressed"):
        client.get("http://there/")


@pytest.mark.parametrize("ends", [(b"data: 1\n\n",), (b"data: 1\r\n", b"\r", b"\n"), (b"data: 1\n", b"\n" + CHUNK)])
def test_a_client_that_blocks_follows_events_for_as_long_as_they_come(ends):
    body = BlockingBody(CHUNK, CHUNK, *ends)
    with blocking(body, content_type="text/event-stream") as client, client.stream("GET", "http://there/") as answer:
        for _ in answer.iter_raw():
            pass
    assert body.sent == 10_000


@pytest.mark.parametrize("endless", [b"x" * 65_536, b"data: 1\n" * 8_000])
def test_an_event_without_end_is_given_up(endless):
    body = BlockingBody(endless)
    with (
        blocking(body, content_type="text/event-stream") as client,
        client.stream("GET", "http://there/") as answer,
        pytest.raises(AnswerTooLongError),
    ):
        list(answer.iter_lines())
    assert body.sent < 20
