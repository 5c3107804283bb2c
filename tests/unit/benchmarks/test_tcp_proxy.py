"""The proxy of the chaos suite: what clients see through it is what they would see without it."""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import psutil
import pytest

from quartet_benchmarks.chaos.tcp_proxy import RESENT_S, TcpProxy
from quartet_deployment import free_ports, hold_ports

ECHO = """
import socketserver, sys
class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(line)
socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Echo).serve_forever()
"""


@contextlib.contextmanager
def _listening(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A process that answers each line with itself, until it is killed."""
    process = subprocess.Popen([sys.executable, "-c", ECHO, str(port)])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def _connection(address: str) -> Iterator[Any]:
    """A connection that has been answered once, as a file. Raises ConnectionError for one that is broken off."""
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection, connection.makefile("rwb") as lines:
        lines.write(b"hello\n")
        lines.flush()
        if lines.readline() != b"hello\n":
            raise ConnectionResetError("broken off")
        yield lines


def _answers(address: str) -> bool:
    """Whether it answers; False where connections are refused. Raises ConnectionError for one that is broken off."""
    try:
        with _connection(address):
            return True
    except ConnectionRefusedError:
        return False


def _listens(address: str) -> bool:
    """Whether this process listens there; a connection would make the proxy look for its listener."""
    port = int(address.partition(":")[2])
    return any(one.laddr.port == port for one in psutil.Process().net_connections() if one.status == "LISTEN")


@pytest.mark.timeout(60)
async def test_a_listener_that_is_killed_refuses_through_the_proxy_and_is_found_again(
    until: Callable[..., Awaitable[Any]],
) -> None:
    (port,) = free_ports(1)
    with hold_ports([port]), TcpProxy("echo") as proxy:
        proxy.forward_to(port)
        with _listening(port) as process:
            await until(lambda: _answers(f"127.0.0.1:{port}"))
            with _connection(proxy.address) as lines:
                process.kill()
                assert lines.read() == b""
            assert not _answers(proxy.address)
        with _listening(port):
            await until(lambda: _answers(proxy.address))


@pytest.mark.timeout(60)
async def test_a_listener_that_dies_behind_half_open_connections_refuses_too(
    until: Callable[..., Awaitable[Any]],
) -> None:
    (port,) = free_ports(1)
    with hold_ports([port]), TcpProxy("echo") as proxy:
        proxy.forward_to(port)
        with _listening(port) as process:
            await until(lambda: _answers(f"127.0.0.1:{port}"))
            with _connection(proxy.address):
                proxy.drop_connections()
                assert _listens(proxy.address)
                process.kill()
                await until(lambda: not _listens(proxy.address))
        with _listening(port):
            await until(lambda: _answers(proxy.address))


@pytest.mark.timeout(60)
def test_a_listener_does_not_learn_that_a_client_of_a_silence_has_gone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, TcpProxy("listener") as proxy:
        proxy.forward_to(listener.getsockname()[1])
        host, _, port = proxy.address.partition(":")
        with contextlib.ExitStack() as accepted:
            connections: list[socket.socket] = []
            with proxy.silence():
                # The later ones show that the proxy has seen the first one close.
                for _ in range(10):
                    with socket.create_connection((host, int(port))) as client:
                        connections.append(accepted.enter_context(listener.accept()[0]))
                        client.sendall(b"lost")
            with socket.create_connection((host, int(port))) as client:
                last = accepted.enter_context(listener.accept()[0])
                client.sendall(b"passed on")
                assert last.recv(64) == b"passed on"
            assert last.recv(64) == b"", "one that was opened later is closed"
            for connection in connections:
                connection.setblocking(False)
                with pytest.raises(BlockingIOError):
                    connection.recv(64)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("loss", "one_way_s"), [(0.0, 0.1), (1.0, 0.1 + RESENT_S[0])])
async def test_a_slow_link_delays_both_directions_and_keeps_the_order(
    until: Callable[..., Awaitable[Any]], loss: float, one_way_s: float
) -> None:
    (port,) = free_ports(1)
    with hold_ports([port]), TcpProxy("echo", delay_s=0.1, loss=loss) as proxy, _listening(port):
        proxy.forward_to(port)
        await until(lambda: _answers(f"127.0.0.1:{port}"))
        await until(lambda: _answers(proxy.address))
        with _connection(proxy.address) as lines:
            began = time.monotonic()
            for number in range(20):
                lines.write(b"%d\n" % number)
                lines.flush()
            assert [int(lines.readline()) for _ in range(20)] == list(range(20))
            assert time.monotonic() - began >= 2 * one_way_s


@pytest.mark.timeout(60)
def test_a_slow_link_delivers_what_was_sent_before_the_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, TcpProxy("listener", delay_s=0.2) as proxy:
        proxy.forward_to(listener.getsockname()[1])
        host, _, port = proxy.address.partition(":")
        with socket.create_connection((host, int(port))) as client:
            client.sendall(b"last words")
            client.shutdown(socket.SHUT_WR)
            accepted, _ = listener.accept()
            with accepted:
                accepted.settimeout(30)
                assert accepted.recv(64) == b"last words"
