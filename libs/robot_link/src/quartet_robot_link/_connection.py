"""The websocket to rosbridge: connects again and again, decodes what arrives, sends operations."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from quartet_process import without_password
from quartet_robot_link._decode import Decoder
from quartet_robot_link.errors import BridgeUnavailableError, MessageTooLargeError, UndecodableFrameError
from quartet_robot_link.link import Message

log = logging.getLogger(__name__)

MAX_FRAME_BYTES = 256 * 1024 * 1024
"""A larger frame costs the connection. More than what is decoded: a map of 6000 x 6000 cells as JSON has 144 MB."""


class Connection:
    """A websocket to rosbridge that reconnects while `run` runs.

    token: gives the bearer token to present, which a bridge proxy asks for and rosbridge itself ignores.
    on_open: what is sent on a fresh connection before it counts as ready. on_operation: takes each operation that
    arrives. on_too_large: takes the error of each message that is too large to be decoded. on_lost: told why whenever
    a connection has ended.
    """

    def __init__(
        self,
        url: str,
        *,
        token: Callable[[], str | None] = lambda: None,
        on_open: Callable[[], Awaitable[None]],
        on_operation: Callable[[Message], None],
        on_too_large: Callable[[MessageTooLargeError], None],
        on_lost: Callable[[str], None],
        backoff_s: tuple[float, float],
    ) -> None:
        self.url = url
        self.address = without_password(url)
        """The URL for messages."""
        self._token = token
        self._on_open, self._on_operation, self._on_lost = on_open, on_operation, on_lost
        self._on_too_large = on_too_large
        self._backoff_s = backoff_s
        self._socket: ClientConnection | None = None
        self._ready = asyncio.Event()
        self._why_down, self._why_aborted = "not connected yet", ""
        self.reconnects = 0
        """Connections that were lost so far."""

    @property
    def is_open(self) -> bool:
        """Whether there is a websocket, also before it is ready."""
        return self._socket is not None

    @property
    def ready(self) -> bool:
        """Whether calls may be sent."""
        return self._ready.is_set()

    async def wait_ready(self, timeout_s: float) -> bool:
        """Return True once ready, False when `timeout_s` (wall time) passed first."""
        try:
            await asyncio.wait_for(self._ready.wait(), timeout_s)
        except TimeoutError:
            return False
        return True

    def error(self) -> BridgeUnavailableError:
        """Return the error for a caller while there is no connection: address, cause and remedy."""
        return BridgeUnavailableError(
            f"no connection to the robot's rosbridge at {self.address} ({self._why_down}); it is tried again all "
            "the time: check that rosbridge runs and that the address in robot.yaml or QUARTET_BRIDGE_URL is right"
        )

    async def run(self) -> None:
        """Connect and serve until canceled; the pause between tries grows up to the longest of `backoff_s`."""
        shortest, longest = self._backoff_s
        delay = shortest
        while True:
            try:
                token = self._token()
                async with connect(
                    self.url,
                    additional_headers=None if token is None else {"Authorization": f"Bearer {token}"},
                    compression=None,
                    max_size=MAX_FRAME_BYTES,
                    max_queue=64,
                    open_timeout=5.0,
                    close_timeout=1.0,
                    proxy=None,
                ) as socket:
                    delay = shortest
                    await self._serve(socket)
            except InvalidStatus as refused:
                self._why_down = f"{refused}: {(refused.response.body or b'').decode(errors='replace')[:200].strip()}"
            except (OSError, TimeoutError, WebSocketException) as error:
                self._why_down = str(error).replace(self.url, self.address) or type(error).__name__
            except Exception as error:
                # Whatever one connection did wrong, the robot must be reachable over the next.
                self._why_down = f"{type(error).__name__}: {error}"
                log.exception("the connection to %s failed", self.address)
            await asyncio.sleep(delay * random.uniform(0.7, 1.3))
            delay = min(longest, delay * 2)

    async def ping(self, timeout_s: float) -> bool:
        """Return whether the other side answers a ping of the websocket protocol in time."""
        if self._socket is None:
            return False
        try:
            async with asyncio.timeout(timeout_s):
                await (await self._socket.ping())
        except (TimeoutError, ConnectionClosed):
            return False
        return True

    async def send(self, operation: Message) -> None:
        """Send one operation. Raises BridgeUnavailableError."""
        socket = self._socket
        if socket is None:
            raise self.error()
        try:
            await socket.send(orjson.dumps(operation, option=orjson.OPT_SERIALIZE_NUMPY).decode())
        except ConnectionClosed as error:
            raise BridgeUnavailableError(f"the connection to {self.address} was lost while sending: {error}") from error

    def abort(self, why: str) -> None:
        """Give the websocket up without a closing handshake; `run` connects again."""
        if self._socket is not None:
            self._why_aborted = why
            log.warning("%s: %s", self.address, why)
            self._socket.transport.abort()

    def end(self, why: str) -> None:
        """Count the connection as lost."""
        self._ready.clear()
        if self._socket is not None:
            self.reconnects += 1
        self._socket = None
        self._on_lost(why)

    async def _serve(self, socket: ClientConnection) -> None:
        decoder = Decoder()
        self._socket, self._why_aborted = socket, ""
        opening = asyncio.create_task(self._open())
        try:
            async for frame in socket:
                try:
                    for operation in decoder.decode(frame):
                        self._on_operation(operation)
                except MessageTooLargeError as error:
                    log.warning("ignored: %s", error)
                    self._on_too_large(error)
                except UndecodableFrameError as error:
                    log.warning("ignored: %s", error)
            self._why_down = "the robot's side closed the connection"
        except ConnectionClosed as error:
            self._why_down = self._why_aborted or str(error)
        finally:
            opening.cancel()
            self.end(self._why_down)
            await asyncio.gather(opening, return_exceptions=True)

    async def _open(self) -> None:
        try:
            await self._on_open()
            self._ready.set()
            log.info("connected to %s", self.address)
        except BridgeUnavailableError as error:
            self.abort(str(error))
        except Exception as error:
            # Else the connection stays open and is never ready.
            log.exception("the connection to %s could not be set up", self.address)
            self.abort(f"it could not be set up: {type(error).__name__}: {error}")
