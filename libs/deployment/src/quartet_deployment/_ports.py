"""Free ports for processes that must know each other's addresses before they start."""

import contextlib
import socket
from collections.abc import Iterable

from quartet_deployment.errors import PortTakenError

HOST = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Return `count` different unused TCP ports of the loopback interface."""
    with contextlib.ExitStack() as held:
        ports: list[int] = []
        for _ in range(count):
            probe = held.enter_context(socket.socket())
            probe.bind((HOST, 0))
            ports.append(probe.getsockname()[1])
        return ports


def hold_ports(ports: Iterable[int]) -> contextlib.ExitStack:
    """Reserve these ports until the returned exit stack is closed. Raises PortTakenError.

    Seconds pass between the choice of a port and its use, and between the end of a process and its restart. The
    reserving sockets do not listen, so connections are refused while the process does not run; with SO_REUSEADDR,
    which every server sets too, Linux lets the process bind its port beside them.
    """
    with contextlib.ExitStack() as held:
        for port in ports:
            holder = held.enter_context(socket.socket())
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                holder.bind((HOST, port))
            except OSError as error:
                raise PortTakenError(f"port {port} has been taken by another program just now; start again") from error
        return held.pop_all()


def require_free(port: int, what: str, remedy: str) -> None:
    """Raise PortTakenError when another program listens at `port`; `what` and `remedy` go into the message."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise PortTakenError(f"port {port} for {what} is taken ({error.strerror}); {remedy}") from error


def redis_answers(port: int, user: str, password: str) -> bool:
    """Return whether a Redis at `port` answers a PING of `user`; one that is still loading its file does not."""
    try:
        with socket.create_connection((HOST, port), timeout=1.0) as link:
            link.sendall(f"AUTH {user} {password}\r\nPING\r\n".encode())
            answers = b""
            while answers.count(b"\r\n") < 2 and (more := link.recv(1024)):
                answers += more
            return answers.endswith(b"+PONG\r\n")
    except OSError:
        return False
