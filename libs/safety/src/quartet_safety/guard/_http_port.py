"""The guard's own HTTP port: a stop that passes a hung rosbridge.

POST /stop {"reason": "..."}, POST /reset, GET /state. Each answers with the state as JSON; errors are
{"error": "..."}. Whoever holds the token may stop the robot, whatever else is wrong with the request. No web page may:
whatever names an origin is refused, since a page of any site can send requests from a browser on this machine.
"""

import contextlib
import hmac
import io
import ipaddress
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

from quartet_safety.errors import GuardPortError
from quartet_safety.guard._wire import MAX_REASON, GuardStatus

log = logging.getLogger(__name__)

MAX_BODY = 65_536
"""Bytes of a request that are read."""
REQUEST_S = 10.0
"""Wall time for the whole of a request, from its first byte or the start of its connection."""
IDLE_S = 120.0
"""Of a connection on which nothing comes between two requests: longer than clients keep one that they mean to use."""
MOST_CONNECTIONS = 64
"""Beyond it the connection that is open for longest is closed, first one that has shown no token: a flood of open
connections uses up threads and files, and must not keep a stop out."""
_CLOSES_WITHIN_S = 0.1
"""The server looks so often whether it is to end [s]."""
DEFAULT_REASON = "stopped over HTTP"
TOKEN, TOKEN_FILE = "QUARTET_GUARD_TOKEN", "QUARTET_GUARD_TOKEN_FILE"
ROUTES = {"/stop": "POST", "/reset": "POST", "/state": "GET"}


class Controls(Protocol):
    """What the port works on, from threads of its own."""

    def stop(self, reason: str) -> str:
        """Stop the robot; return the answer for the caller."""
        ...

    def reset(self) -> str:
        """Release the latch; return the answer for the caller."""
        ...

    @property
    def status(self) -> GuardStatus:
        """The guard's state."""
        ...


Tokens = Callable[[], tuple[str, ...]]
"""Returns the tokens that are accepted now, none where none is asked for. Raises OSError or ValueError."""


def token_source(environment: Mapping[str, str]) -> Tokens:
    """Return the tokens of QUARTET_GUARD_TOKEN, else of the file QUARTET_GUARD_TOKEN_FILE.

    The file has one a line, with the name of its owner behind a space, and is read at each request, so that tokens are
    rotated while the guard runs.
    """
    token, path = environment.get(TOKEN), environment.get(TOKEN_FILE)
    if token or not path:
        return lambda: (token,) if token else ()

    def from_file() -> tuple[str, ...]:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        tokens = tuple(line.split()[0] for line in lines if line.strip())
        if not tokens:
            raise ValueError(f"{path} is empty")
        return tokens

    return from_file


def require_token(host: str, tokens: Tokens) -> None:
    """Raise GuardPortError where other machines reach `host` and no token is asked for, or none can be read."""
    try:
        asked_for = tokens()
    except (OSError, ValueError) as error:
        raise GuardPortError(f"{TOKEN_FILE}: the token cannot be read: {error}") from error
    if not asked_for and not _is_loopback(host):
        raise GuardPortError(
            f"the guard's port would be open on {host} to everyone: set {TOKEN} or {TOKEN_FILE}, or bind 127.0.0.1"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class GuardPort:
    """Serves `controls` on a bound socket, from `open` to `close`.

    Args:
        controls: the guard.
        listener: bound and listening; closed by `close`.
        tokens: bearer tokens that are accepted.

    Raises:
        GuardPortError: the tokens cannot be read, or the socket is open to other machines and no token is asked for.
    """

    def __init__(self, controls: Controls, listener: socket.socket, tokens: Tokens) -> None:
        host, port = listener.getsockname()[:2]
        require_token(host, tokens)
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        handler = type("Handler", (_Handler,), {"controls": controls, "tokens": staticmethod(tokens)})
        self._server = _Server(listener, handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_CLOSES_WITHIN_S,), name="guard-port", daemon=True
        )

    def open(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def close(self) -> None:
        """End the port; returns when nothing is accepted any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, listener: socket.socket, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(listener.getsockname()[:2], handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self._lock = threading.Lock()
        self._open: dict[socket.socket, bool] = {}
        """Whether each connection has shown a token, in the order in which they were opened."""

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            if len(self._open) >= MOST_CONNECTIONS:
                victim = next((one for one, trusted in self._open.items() if not trusted), next(iter(self._open)))
                del self._open[victim]
                with contextlib.suppress(OSError):
                    victim.shutdown(socket.SHUT_RDWR)
            self._open[request] = False
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def trust(self, request: socket.socket) -> None:
        """Note that a connection has shown a token."""
        with self._lock:
            if request in self._open:
                self._open[request] = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.info("an HTTP client went away before its answer", exc_info=True)


def _reason(body: bytes) -> str:
    """Return the reason in a body, or a default: a malformed body must not prevent a stop."""
    try:
        reason = json.loads(body)["reason"]
    except (ValueError, KeyError, TypeError, RecursionError):
        reason = ""
    return (reason if isinstance(reason, str) else "").strip()[:MAX_REASON] or DEFAULT_REASON


class _RefusalError(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Incoming(io.RawIOBase):
    """What comes on a connection, until its request is due: bytes that drip keep no thread."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self._connection = connection
        self.due: float | None = time.monotonic() + REQUEST_S
        """When the present request must be complete, in monotonic time; None: the next has not begun."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Raise TimeoutError when the request is late."""
        left = IDLE_S if self.due is None else self.due - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"the request was not complete within {REQUEST_S:g} s")
        self._connection.settimeout(left)
        try:
            count = self._connection.recv_into(buffer)
        finally:
            # For the answer.
            self._connection.settimeout(REQUEST_S)
        if self.due is None:
            self.due = time.monotonic() + REQUEST_S
        return count


class _Handler(BaseHTTPRequestHandler):
    controls: Controls
    tokens: Tokens
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self._incoming = _Incoming(self.connection)
        self.rfile = io.BufferedReader(self._incoming)

    def handle_one_request(self) -> None:
        super().handle_one_request()
        self._incoming.due = None

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        try:
            status, content = 200, self._serve()
        except _RefusalError as refusal:
            status, content = refusal.status, {"error": str(refusal)}
        except Exception as error:
            log.exception("%s %s failed", self.command, self.path)
            status, content = 500, {"error": f"{self.command} {self.path} failed: {error!r}; use the emergency stop"}
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _serve(self) -> dict[str, Any]:
        # Read before anything else: a connection closed over unread bytes may lose its answer.
        body = self._body()
        path = self.path.partition("?")[0]
        if path not in ROUTES:
            valid = ", ".join(f"{method} {name}" for name, method in ROUTES.items())
            raise _RefusalError(404, f"there is no {path[:100]} here; there are {valid}")
        if self.command != ROUTES[path]:
            raise _RefusalError(405, f"{path} takes {ROUTES[path]}, not {self.command}")
        self._check_sender()
        if path == "/state":
            return self.controls.status.as_json()
        began = time.monotonic()
        message = self.controls.stop(_reason(body)) if path == "/stop" else self.controls.reset()
        took = {"latency_ms": round((time.monotonic() - began) * 1e3, 2)} if path == "/stop" else {}
        return self.controls.status.as_json() | {"message": message} | took

    def _check_sender(self) -> None:
        origin = self.headers.get("Origin")
        if origin is not None:
            raise _RefusalError(403, f"a request of a web page ({origin[:100]}) is not served; quartet stop stops")
        try:
            accepted = self.tokens()
        except (OSError, ValueError) as error:
            log.error("the token cannot be read: %s", error)
            raise _RefusalError(503, "the guard cannot read its token file; see its log") from error
        given = self.headers.get("Authorization", "")
        # All are compared, so that the time taken tells nothing.
        right = [hmac.compare_digest(given.encode(), f"Bearer {token}".encode()) for token in accepted]
        if accepted and not any(right):
            raise _RefusalError(401, "wrong or missing bearer token; send Authorization: Bearer <token of the guard>")
        if accepted and isinstance(self.server, _Server):
            self.server.trust(self.connection)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY:
            self.close_connection = True
            return b""
        try:
            return self.rfile.read(int(length))
        except TimeoutError:
            self.close_connection = True
            return b""

    def log_message(self, format: str, *args: Any) -> None:
        log.debug("%s %s", self.address_string(), format % args)
