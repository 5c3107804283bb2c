"""The proxy of the chaos suite: what clients see through it is what they would see without it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from quartet_benchmarks.chaos.tcp_proxy import TcpProxy
from quartet_deployment import free_ports, hold_ports


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(await reader.readline())
    await writer.drain()
    writer.close()


async def _ask(address: str) -> bytes:
    host, _, port = address.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"hello\n")
    try:
        return await reader.readline()
    finally:
        writer.close()


async def _answers(address: str) -> bool:
    """Whether it answers; False where connections are refused. Raises ConnectionError for one that is broken off."""
    try:
        answer = await _ask(address)
    except ConnectionRefusedError:
        return False
    if not answer:
        raise ConnectionResetError("broken off")
    return True


@pytest.mark.timeout(30)
async def test_a_listener_that_is_gone_refuses_through_the_proxy_and_is_found_again(
    until: Callable[..., Awaitable[Any]],
) -> None:
    (port,) = free_ports(1)
    with hold_ports([port]), TcpProxy("echo") as proxy:
        proxy.forward_to(port)
        listening = await asyncio.start_server(_answer, "127.0.0.1", port)
        assert await _answers(proxy.address)
        # A connection that is open when the listener dies ends, and the next one is refused.
        host, _, at = proxy.address.partition(":")
        reader, writer = await asyncio.open_connection(host, int(at))
        writer.write(b"open")
        await writer.drain()
        listening.close()
        writer.write_eof()
        assert await reader.read() in (b"", b"open")
        writer.close()
        assert not await _answers(proxy.address)
        listening = await asyncio.start_server(_answer, "127.0.0.1", port)
        await until(lambda: _answers(proxy.address))
        listening.close()
