"""Free ports for processes that must know each other's address before they start."""

import contextlib
import socket

from quartet_cli.stack.errors import PortTaken

HOST = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """`count` different TCP ports on the loopback interface that nobody uses now."""
    with contextlib.ExitStack() as held:
        ports: list[int] = []
        for _ in range(count):
            probe = held.enter_context(socket.socket())
            probe.bind((HOST, 0))
            ports.append(probe.getsockname()[1])
        return ports


def require_free(port: int, what: str, remedy: str) -> None:
    """Raises PortTaken when somebody listens at `port`."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise PortTaken(f"port {port} for {what} is taken ({error.strerror}); {remedy}") from error


def redis_answers(port: int) -> bool:
    """Whether a Redis at `port` answers a PING."""
    try:
        with socket.create_connection((HOST, port), timeout=1.0) as link:
            link.sendall(b"PING\r\n")
            return link.recv(16).startswith(b"+PONG")
    except OSError:
        return False
