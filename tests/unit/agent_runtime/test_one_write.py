"""Requests whose head and body are sent at once."""

import asyncio

import httpcore2
import httpx2
import pytest

from quartet_agent_runtime import _one_write as one_write
from quartet_agent_runtime._one_write import OneWriteTransport
from support.socket_writes import note_writes

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture
async def server():
    """URL of a server that answers each request of 5 bytes and keeps the connection, and the requests."""
    requests = []

    async def answer(reader, writer):
        try:
            while True:
                requests.append(await reader.readuntil(b"\r\n\r\n") + await reader.readexactly(5))
                writer.write(OK)
        except asyncio.IncompleteReadError:
            writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", requests


async def test_head_and_body_of_a_request_are_sent_at_once(server, monkeypatch):
    url, requests = server
    written = note_writes(monkeypatch)
    async with httpx2.AsyncClient(transport=OneWriteTransport(), trust_env=False) as http:
        for _ in range(2):
            assert (await http.post(url, content=b"hello")).text == "ok"
    assert [data for data in written if data != OK] == requests
    assert len(requests) == 2


class Inner(httpcore2.AsyncNetworkStream):
    """Stream that keeps what is written, or refuses it, and answers."""

    def __init__(self, *, broken=False):
        self.broken = broken
        self.written = []

    async def write(self, buffer, timeout=None):  # noqa: ASYNC109
        if self.broken:
            raise httpcore2.WriteError("the peer has closed")
        self.written.append((buffer, timeout))

    async def read(self, max_bytes, timeout=None):  # noqa: ASYNC109
        return OK


async def test_a_long_request_is_sent_in_parts(monkeypatch):
    monkeypatch.setattr(one_write, "MOST_HELD", 8)
    inner = Inner()
    stream = one_write.OneWriteStream(inner)
    for part in (b"head", b"some of ", b"the ", b"body"):
        await stream.write(part, 3.0)
    assert inner.written == [(b"headsome of ", 3.0)]
    assert await stream.read(100) == OK
    assert inner.written == [(b"headsome of ", 3.0), (b"the body", 3.0)]
    await stream.read(100)
    assert len(inner.written) == 2


async def test_an_answer_to_a_request_that_was_not_read_is_read():
    stream = one_write.OneWriteStream(Inner(broken=True))
    await stream.write(b"head")
    assert await stream.read(100) == OK
