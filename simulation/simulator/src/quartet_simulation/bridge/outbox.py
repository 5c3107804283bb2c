"""What waits to be sent to one client: answers are never dropped, topic messages give way to newer ones."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Any

import orjson
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

log = logging.getLogger(__name__)

BACKLOG = 10
"""Messages of one subscription that may wait for a slow client; older ones are dropped."""


class Entry:
    """A frame in the queue; dropping it empties it in place."""

    __slots__ = ("data", "id", "limit", "text")

    def __init__(self, data: bytes, text: bool, limit: Any, message_id: object) -> None:
        self.data: bytes | None = data
        self.text, self.limit, self.id = text, limit, message_id


class Outbox:
    """Sends frames in order, in fragments where they are longer than the limit.

    `limit` [characters] is max_message_size of the bridge until a message of the client names a `fragment_size`, which
    rosbridge takes as it comes: None is no limit, and with a value that is no size every longer message is lost.
    """

    def __init__(self, socket: ServerConnection, limit: int) -> None:
        self._socket = socket
        self.limit: Any = limit
        self._queue: deque[Entry] = deque()
        self._filled = asyncio.Event()

    def put(
        self, data: bytes, message_id: object = None, *, text: bool = True, lane: deque[Entry] | None = None
    ) -> None:
        """Queue a frame. `message_id`: the id in it; `lane` holds the waiting frames of one subscription."""
        entry = Entry(data, text, self.limit, message_id)
        if lane is not None:
            while lane and lane[0].data is None:
                lane.popleft()
            if len(lane) >= BACKLOG:
                lane.popleft().data = None
            lane.append(entry)
        self._queue.append(entry)
        self._filled.set()

    async def run(self) -> None:
        """Send until the connection closes."""
        try:
            while True:
                await self._filled.wait()
                while self._queue:
                    entry = self._queue.popleft()
                    data, entry.data = entry.data, None
                    if data is not None:
                        await self._send(data, entry)
                self._filled.clear()
        except ConnectionClosed:
            return

    async def _send(self, data: bytes, entry: Entry) -> None:
        limit = entry.limit
        if limit is None or (isinstance(limit, int | float) and len(data) <= limit):
            await self._socket.send(data, text=entry.text)
            return
        if not entry.text or not isinstance(limit, int) or limit < 1:
            # rosbridge cannot split CBOR (its issue 844), nor anything by such a limit: an error in its log is all.
            log.warning("lost a frame of %d bytes, which is above the limit %r", len(data), limit)
            return
        whole = data.decode()
        pieces = [whole[at : at + limit] for at in range(0, len(whole), limit)]
        for number, piece in enumerate(pieces):
            fragment = {
                "op": "fragment",
                # Messages without an id all have the same one: rosbridge counts anew for each of them.
                "id": "0" if entry.id is None else entry.id,
                "data": piece,
                "num": number,
                "total": len(pieces),
            }
            await self._socket.send(orjson.dumps(fragment), text=True)
