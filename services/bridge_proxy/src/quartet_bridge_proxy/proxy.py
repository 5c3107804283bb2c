"""The WebSocket server in front of rosbridge: each client has its own connection there, filtered on the way."""

import asyncio
import logging
import socket
from collections.abc import Collection
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.http11 import Request, Response

from quartet_process import Secret, bearer_token, without_password
from quartet_robot_link.permits import BridgePermits

log = logging.getLogger(__name__)

FROM_ROSBRIDGE_BYTES = 256 * 1024 * 1024
"""Longest message of rosbridge, as the servers take it; a map as JSON is large, and they refuse it by its topic."""
FAILED_GOAL = 6
"""action_msgs/msg/GoalStatus: ABORTED."""
MAX_TOLD = 100
"""Refusals of one client that are logged, each once."""


@dataclass(frozen=True)
class Limits:
    """Limits of one client."""

    message_bytes: int = 4 * 1024 * 1024
    """Longest message; a longer one ends its connection."""
    handshake_s: float = 10.0
    """Wall time for its request, the connection to rosbridge included."""
    connect_s: float = 3.0
    """Wall time for the connection to rosbridge."""
    send_s: float = 10.0
    """Wall time for one message to leave; a client or a rosbridge that takes none for longer is given up."""
    clients: int = 32
    """Connections at the same time."""


class BridgeProxy:
    """Relays between clients with a token and rosbridge at `upstream_url`.

    Everything from rosbridge passes. Of a client only the operations that `permits` has pass; any other is answered
    with an error in the form that rosbridge has for it, and the connection stays.
    """

    def __init__(
        self,
        upstream_url: str,
        permits: BridgePermits,
        token: Secret,
        *,
        origins: Collection[str] = (),
        limits: Limits | None = None,
    ) -> None:
        self.upstream_url = upstream_url
        self._permits, self._token = permits, token
        self._origins = frozenset(origin.rstrip("/") for origin in origins)
        self._limits = limits or Limits()
        self._clients: set[_Client] = set()

    async def serve(self, listener: socket.socket) -> Server:
        """Serve on a bound socket, which the server that is returned closes at its end."""
        return await serve(
            self._relay,
            sock=listener,
            process_request=self._admit,
            create_connection=_Client,
            # Pictures are compressed already.
            compression=None,
            max_size=self._limits.message_bytes,
            max_queue=16,
            open_timeout=self._limits.handshake_s,
            close_timeout=1.0,
            server_header=None,
        )

    async def _admit(self, client: ServerConnection, request: Request) -> Response | None:
        """Return why `client` is not admitted, or None with a connection to rosbridge of its own."""
        assert isinstance(client, _Client)
        if request.path == "/health":
            return client.respond(HTTPStatus.OK, '{"status": "ok"}\n')
        # All of each, so that a second header cannot say something else.
        given = request.headers.get_all("Authorization")
        if len(given) != 1 or not self._token.accepts(bearer_token(given[0])):
            return client.respond(
                HTTPStatus.UNAUTHORIZED,
                "wrong or missing token; send 'Authorization: Bearer <bridge_token>' (QUARTET_BRIDGE_TOKEN)\n",
            )
        foreign = [origin for origin in request.headers.get_all("Origin") if origin not in self._origins]
        if foreign:
            text = f"a web page of {foreign[0][:100]} is not served; QUARTET_BRIDGE_ORIGINS may list it\n"
            return client.respond(HTTPStatus.FORBIDDEN, text)
        if len(self._clients) >= self._limits.clients:
            text = f"there are {len(self._clients)} clients already, which is the most\n"
            return client.respond(HTTPStatus.SERVICE_UNAVAILABLE, text)
        self._clients.add(client)
        client.connection_lost_waiter.add_done_callback(lambda _: self._clients.discard(client))
        try:
            client.upstream = await connect(
                self.upstream_url,
                compression=None,
                max_size=FROM_ROSBRIDGE_BYTES,
                max_queue=16,
                open_timeout=self._limits.connect_s,
                close_timeout=1.0,
                proxy=None,
            )
        except (OSError, TimeoutError, WebSocketException) as error:
            where = without_password(self.upstream_url)
            text = f"no connection to rosbridge at {where}: {error or type(error).__name__}\n"
            log.warning("%s", text.strip())
            return client.respond(HTTPStatus.BAD_GATEWAY, text)
        if client.connection_lost_waiter.done():
            client.upstream.transport.abort()
        return None

    async def _relay(self, client: ServerConnection) -> None:
        assert isinstance(client, _Client)
        upstream = client.upstream
        assert upstream is not None
        there = asyncio.create_task(self._to_rosbridge(client, upstream))
        back = asyncio.create_task(self._to_client(client, upstream))
        try:
            done, _ = await asyncio.wait({there, back}, return_when=asyncio.FIRST_COMPLETED)
            why = next(iter(done)).result()
        finally:
            for task in (there, back):
                task.cancel()
            await asyncio.gather(there, back, return_exceptions=True)
        log.info("%s: %s", client.remote_address, why)
        if why.startswith("slow"):
            # A closing handshake would wait for it as well.
            client.transport.abort()
        await client.close(1011, why[:120])
        await upstream.close()

    async def _to_client(self, client: "_Client", upstream: ClientConnection) -> str:
        """Relay everything until one of them has gone; return what ended it."""
        try:
            async for frame in upstream:
                async with asyncio.timeout(self._limits.send_s):
                    await client.send(frame)
        except TimeoutError:
            return f"slow: the client took no message for {self._limits.send_s:g} s"
        except ConnectionClosed as error:
            return f"the connection ended: {error}"
        return f"rosbridge at {without_password(self.upstream_url)} closed the connection"

    async def _to_rosbridge(self, client: "_Client", upstream: ClientConnection) -> str:
        """Relay what is permitted until one of them has gone; return what ended it."""
        try:
            async for frame in client:
                sound, refused = self._filtered(frame)
                if refused is not None:
                    client.tell(refused)
                    async with asyncio.timeout(self._limits.send_s):
                        await client.send(orjson.dumps(refused).decode())
                if sound is not None:
                    async with asyncio.timeout(self._limits.send_s):
                        await upstream.send(sound)
        except TimeoutError:
            return f"slow: client or rosbridge took no message for {self._limits.send_s:g} s"
        except ConnectionClosed as error:
            return f"the connection ended: {error}"
        return "the client closed the connection"

    def _filtered(self, frame: str | bytes) -> tuple[str | None, dict[str, Any] | None]:
        """Return what goes on to rosbridge and what the client is told, one of them None.

        What goes on is written anew from what was understood here: rosbridge takes half a message or two in a frame,
        and a field that is there twice, in its own way, and none of that may mean something else to it.
        """
        try:
            if isinstance(frame, bytes):
                raise TypeError("binary messages are not allowed; send JSON as text")
            operation = orjson.loads(frame)
            if not isinstance(operation, dict):
                raise TypeError("it is no JSON object")
            # It fails for what is nested deeper than orjson writes.
            understood = orjson.dumps(operation).decode()
        except (TypeError, ValueError) as error:
            return None, _status(f"a message was refused: {error}", None)
        refusal = self._permits.refusal(operation)
        if refusal is None:
            return understood, None
        return None, _refused(operation, f"refused by the bridge proxy: {refusal}")


class _Client(ServerConnection):
    """A client with its own connection to rosbridge, which ends with it."""

    upstream: ClientConnection | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._told: set[str] = set()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the connection to rosbridge of a client that went away before it was relayed."""
        super().connection_lost(exc)
        if self.upstream is not None:
            self.upstream.transport.abort()

    def tell(self, refused: dict[str, Any]) -> None:
        """Log a refusal, each once."""
        text = str(refused.get("msg") or refused.get("values"))
        if text not in self._told and len(self._told) < MAX_TOLD:
            self._told.add(text)
            log.warning("%s: %s", self.remote_address, text)


def _refused(operation: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the answer to a refused operation, as rosbridge has it for one that failed."""
    key = operation.get("id")
    match operation.get("op"):
        case "call_service":
            answer = {"op": "service_response", "service": operation.get("service"), "values": text, "result": False}
        case "send_action_goal":
            named = {"op": "action_result", "action": operation.get("action")}
            answer = {**named, "values": text, "status": FAILED_GOAL, "result": False}
        case _:
            return _status(text, key)
    return answer if key is None else {**answer, "id": key}


def _status(text: str, key: Any) -> dict[str, Any]:
    status = {"op": "status", "level": "error", "msg": text}
    return status if key is None else {**status, "id": key}
