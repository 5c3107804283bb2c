"""The HTTP server of a process: a bound socket, an ASGI application on it, an orderly end.

uvicorn leaves signals, logs and the readiness file to the process. Not imported by the package itself, so that a
command without a server does not pay for it.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Generator
from types import TracebackType
from typing import Any, Self, cast

from starlette.types import ASGIApp, Receive, Scope, Send

from quartet_process.errors import ListenError, ServingError
from quartet_process.packages import defer_package

# Its command line, with reloading and worker processes, is 3 MB.
defer_package("uvicorn", Config="uvicorn.config")
from uvicorn.config import Config  # noqa: E402
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT  # noqa: E402
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol  # noqa: E402
from uvicorn.server import Server  # noqa: E402

log = logging.getLogger(__name__)

BACKLOG = 128
"""Connections that wait to be accepted."""
KEEP_ALIVE_S = 75
"""Idle connections are kept longer than clients keep them (5 s by default in httpx), so that none is closed while a
request for a motion is on its way."""
MOST_CONNECTIONS = 512
"""Beyond it the connection without a running request that is open for longest is closed, first one without any request
yet: a flood of open connections uses up files, and must not keep a stop out."""
MOST_HEAD_BYTES = 65_536
"""Of the lines of a request before its body."""
REQUEST_S = 20.0
"""Wall time for the whole of a request, from its first byte or the start of its connection."""
GRACE_S = 2
"""Wall time that open requests have to end when the server stops."""
TICK_S = 1.0
"""How often the Date header is renewed."""


def listen(host: str, port: int, *, setting: str = "QUARTET_PORT") -> socket.socket:
    """Return a listening TCP socket at `host`, whose connections wait until it is served; otherwise as `bind`."""
    listener = bind(host, port, setting=setting)
    with _usable(listener, host, port, setting):
        listener.listen(BACKLOG)
    return listener


def bind(host: str, port: int, *, setting: str = "QUARTET_PORT") -> socket.socket:
    """Return a bound TCP socket at `host`, whose connections are refused until it is served; port 0 takes a free one.

    Raises:
        ListenError: The port cannot be used; the text names `setting`, where a person chooses it.
    """
    # With the protocol named, asyncio turns Nagle's algorithm off; else each answer waits 40 ms for a delayed ACK.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    with _usable(listener, host, port, setting):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    return listener


@contextlib.contextmanager
def _usable(listener: socket.socket, host: str, port: int, setting: str) -> Generator[None]:
    """Close `listener` and raise ListenError when it cannot be used."""
    try:
        yield
    except OSError as error:
        listener.close()
        raise ListenError(
            f"port {port} of {host} cannot be used: {error.strerror or error}; end the process that listens there, or "
            f"choose another port with {setting} (0 takes a free one)"
        ) from error


def url_of(listener: socket.socket) -> str:
    """Return the http:// URL at which `listener` accepts connections."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class HttpServer:
    """One ASGI application on one listening socket, served inside `async with`; the socket is closed at the end."""

    def __init__(self, app: ASGIApp, listener: socket.socket) -> None:
        self.app = app
        """Answers each request. May be replaced while the server runs; lifespan events go to the first one only."""
        self.url = url_of(listener)
        self._listener = listener
        self._server = _Server(
            Config(
                self._answer,
                http=_Protocol,
                interface="asgi3",
                lifespan="on",
                ws="none",
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=GRACE_S,
                timeout_keep_alive=KEEP_ALIVE_S,
            )
        )
        self._serving: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Start, and return as soon as requests are answered.

        Raises:
            ServingError: The application could not start.
        """
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._listener]), name="http")
        try:
            await self._server.started_or(self._serving)
        except BaseException:
            self._listener.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; see there."""
        await self.close()

    async def close(self) -> None:
        """Accept no more, let open requests end within GRACE_S, then shut the application down."""
        assert self._serving is not None
        self._server.stop()
        await self._serving

    async def serve_until(self, stop: asyncio.Event) -> None:
        """Return when `stop` is set.

        Raises:
            ServingError: The server ended before.
        """
        assert self._serving is not None
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({self._serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        if not stop.is_set():
            await self._serving
            raise ServingError(f"the HTTP server at {self.url} ended by itself; the log says why")

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


class _Protocol(HttpToolsProtocol):
    """Ends a connection whose request is not complete within REQUEST_S, and idle ones where there are too many."""

    _due: asyncio.TimerHandle | None = None
    _whole = False
    """Whether all of the last request has come, its body included."""
    _head_bytes: int | None = 0
    """Of the head of a request that is not complete yet; None between the heads of two requests."""
    opened_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast("asyncio.Transport", OneWrite(transport, self.loop)))
        self.opened_at = self.loop.time()
        self._watch()
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()

    def _make_room(self) -> None:
        others = [one for one in self.connections if isinstance(one, _Protocol) and one is not self]
        idle = [one for one in others if one.is_idle]
        if idle:
            min(idle, key=lambda one: (one.has_asked, one.opened_at)).transport.abort()

    @property
    def has_asked(self) -> bool:
        """Whether a request has come on this connection."""
        return bool(self.cycle)

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return not self.has_asked or self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._head_bytes is not None:
            # The parser keeps names and values of any length.
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES:
                self._head_bytes = None
                self.send_400_response(f"The head of a request has at most {MOST_HEAD_BYTES} bytes.")
        self._watch()

    def on_message_begin(self) -> None:
        self._whole, self._head_bytes = False, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head_bytes = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._whole = True
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self._whole:
            self._unwatch()
        elif self._due is None:
            self._due = self.loop.call_later(REQUEST_S, self._give_up)

    def _unwatch(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _give_up(self) -> None:
        log.info("a request of %s was not complete within %g s", self.client, REQUEST_S)
        self.transport.close()


class OneWrite:
    """Transport that sends what is written in one step of the event loop at once.

    uvicorn writes the head of an answer and its body one after the other. Sent apart, each costs a system call here,
    and wakes the client.
    """

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._inner, self._loop = inner, loop
        self._held: list[bytes] = []
        self._bytes = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send `data` when the event loop goes on, or all that is held now where it is much."""
        if not self._held:
            self._loop.call_soon(self._send)
        self._held.append(bytes(data))
        self._bytes += len(data)
        if self._bytes > HIGH_WATER_LIMIT:
            # The inner transport tells when it has enough.
            self._send()

    def close(self) -> None:
        """Send what is held, and close the connection."""
        self._send()
        self._inner.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _send(self) -> None:
        if self._held:
            held, self._held, self._bytes = b"".join(self._held), [], 0
            self._inner.write(held)


class _Server(Server):
    """uvicorn that handles no signals, tells when it has started, and ends without polling for it."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._started = asyncio.Event()
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        self.should_exit = True
        self._stopping.set()

    async def started_or(self, serving: "asyncio.Task[None]") -> None:
        """Return when requests are answered; raise what ended `serving` before."""
        starting = asyncio.create_task(self._started.wait())
        try:
            await asyncio.wait({serving, starting}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.stop()
            await asyncio.wait({serving})
            raise
        finally:
            starting.cancel()
        if serving.done():
            await serving
            raise ServingError("the HTTP server ended before it listened; the log says why")

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit:
            # uvicorn's way to say that the application's lifespan failed, whose error it has logged.
            raise ServingError("the application of the HTTP server did not start; the log says why") from None
        except OSError as error:
            # A port that was only bound can be taken by another process that binds and listens.
            raise ServingError(
                f"another process listens at the port of the HTTP server by now ({error.strerror or error}); end it"
            ) from error
        self._started.set()

    async def main_loop(self) -> None:
        while not self.should_exit:
            await self.on_tick(0)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await self._stopping.wait()
