"""Free ports for processes that must know each other's address before they start."""

import contextlib
import socket
from collections.abc import Iterable

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


def hold_ports(ports: Iterable[int]) -> contextlib.ExitStack:
    """Keep anybody else from being given these ports until the returned stack is closed. Raises PortTaken.

    Seconds pass between the choice of a port and its use, and between the end of a process and its restart. The
    sockets held here do not listen, so connections are refused as long as the process is not there; with SO_REUSEADDR,
    which every server sets too, Linux lets the process bind its port beside them.
    """
    with contextlib.ExitStack() as held:
        for port in ports:
            holder = held.enter_context(socket.socket())
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                holder.bind((HOST, port))
            except OSError as error:
                raise PortTaken(f"port {port} has been taken by another program just now; start again") from error
        return held.pop_all()


def require_free(port: int, what: str, remedy: str) -> None:
    """Raises PortTaken when somebody listens at `port`."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise PortTaken(f"port {port} for {what} is taken ({error.strerror}); {remedy}") from error


def redis_answers(port: int, user: str, password: str) -> bool:
    """Whether a Redis at `port` answers a PING of `user`; one that still reads its file does not."""
    try:
        with socket.create_connection((HOST, port), timeout=1.0) as link:
            link.sendall(f"AUTH {user} {password}\r\nPING\r\n".encode())
            answers = b""
            while answers.count(b"\r\n") < 2 and (more := link.recv(1024)):
                answers += more
            return answers.endswith(b"+PONG\r\n")
    except OSError:
        return False
