"""The guard's own HTTP port: a stop that passes a hung rosbridge.

POST /stop {"reason": "..."}, POST /reset, GET /state. Each answers with the state as JSON; errors are
{"error": "..."}. Whoever holds the token may stop the robot, whatever else is wrong with the request.
"""

import hmac
import ipaddress
import json
import logging
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

from quartet_bringup.guard.state import State

log = logging.getLogger(__name__)

MAX_BODY = 65_536
MAX_REASON = 500
DEFAULT_REASON = "stopped over HTTP"
TOKEN, TOKEN_FILE = "QUARTET_GUARD_TOKEN", "QUARTET_GUARD_TOKEN_FILE"


class PortProblem(RuntimeError):
    """The port cannot, or must not, be opened like this; the text says what to change."""


class Controls(Protocol):
    """What the port works on. Called from threads of its own."""

    def stop(self, reason: str) -> str: ...

    def reset(self) -> str: ...

    @property
    def state(self) -> State: ...


Tokens = Callable[[], tuple[str, ...]]


def token_source(environment: Mapping[str, str]) -> Tokens:
    """Gives the tokens that are accepted; (): none is asked for.

    A file has one a line, and is read each time: so tokens are rotated while the guard runs.
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


class GuardPort:
    """Listens from `open` to `close`. Raises PortProblem, also for an address beyond this machine without a token."""

    def __init__(self, controls: Controls, host: str, port: int, tokens: Tokens) -> None:
        try:
            secrets = tokens()
        except (OSError, ValueError) as error:
            raise PortProblem(f"{TOKEN_FILE}: the token cannot be read: {error}") from error
        if not _loopback(host) and not secrets:
            raise PortProblem(
                f"the guard's port would be open on {host} to everyone: set {TOKEN} or {TOKEN_FILE}, or bind 127.0.0.1"
            )
        handler = type("Handler", (_Handler,), {"controls": controls, "tokens": staticmethod(tokens)})
        try:
            self._server = ThreadingHTTPServer((host, port), handler)
        except OSError as error:
            raise PortProblem(
                f"http_host, http_port: {host}:{port} cannot be listened on ({error}); end who does, or name another"
            ) from error
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="guard-port", daemon=True)

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host if isinstance(host, str) else host.decode()}:{port}"

    def open(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _reason(body: bytes) -> str:
    """Whoever may stop the robot does so, whatever the body looks like: only the reason is lost."""
    try:
        reason = json.loads(body)["reason"]
    except (ValueError, KeyError, TypeError, RecursionError):
        reason = ""
    return (reason if isinstance(reason, str) else "").strip()[:MAX_REASON] or DEFAULT_REASON


class _Refusal(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    controls: Controls
    tokens: Tokens
    protocol_version = "HTTP/1.1"
    timeout = 120.0
    """Of a connection on which nothing comes [s]: longer than clients keep one that they mean to use again."""
    routes = {"/stop": "POST", "/reset": "POST", "/state": "GET"}

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        try:
            status, content = 200, self._do()
        except _Refusal as refusal:
            status, content = refusal.status, {"error": str(refusal)}
            self.close_connection = True
        except Exception as error:
            log.exception("%s %s failed", self.command, self.path)
            status, content = 500, {"error": f"{self.command} {self.path} failed: {error!r}; use the emergency stop"}
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _do(self) -> dict[str, Any]:
        # Read before anything else: a connection closed over unread bytes may lose its answer.
        body = self._body()
        path = self.path.partition("?")[0]
        if path not in self.routes:
            raise _Refusal(404, f"there is no {path} here; there are {', '.join(sorted(self.routes))}")
        if self.command != self.routes[path]:
            raise _Refusal(405, f"{path} takes {self.routes[path]}, not {self.command}")
        self._check_token()
        if path == "/stop":
            message = self.controls.stop(_reason(body))
        elif path == "/reset":
            message = self.controls.reset()
        else:
            return self.controls.state.as_json()
        return self.controls.state.as_json() | {"message": message}

    def _check_token(self) -> None:
        try:
            accepted = self.tokens()
        except (OSError, ValueError) as error:
            log.error("the token cannot be read: %s", error)
            raise _Refusal(503, "the guard cannot read its token file; see its log") from error
        given = self.headers.get("Authorization", "")
        # All are compared, so that the time taken tells nothing.
        right = [hmac.compare_digest(given.encode(), f"Bearer {token}".encode()) for token in accepted]
        if accepted and not any(right):
            raise _Refusal(401, "wrong or missing bearer token; send Authorization: Bearer <token of the guard>")

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY:
            self.close_connection = True
            return b""
        return self.rfile.read(int(length))

    def log_message(self, format: str, *args: Any) -> None:
        log.debug("%s %s", self.address_string(), format % args)
