"""What waits to be sent to one client: answers are never dropped, topic messages give way to newer ones."""

from __future__ import annotations

import asyncio
from collections import deque

import orjson
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

BACKLOG = 10
"""Messages of one subscription that may wait for a slow client; older ones are dropped."""


class Entry:
    """A frame in the queue; dropping it empties it in place."""

    __slots__ = ("data", "limit", "text")

    def __init__(self, data: bytes, text: bool, limit: int) -> None:
        self.data: bytes | None = data
        self.text, self.limit = text, limit


class Outbox:
    """Sends frames in order, in fragments where they are longer than their limit [characters]."""

    def __init__(self, socket: ServerConnection, limit: int) -> None:
        self._socket, self._limit = socket, limit
        self._queue: deque[Entry] = deque()
        self._filled = asyncio.Event()
        self._fragments = 0

    def put(self, data: bytes, text: bool = True, limit: int | None = None, lane: deque[Entry] | None = None) -> None:
        """Queue a frame. `lane` holds the waiting frames of one subscription."""
        entry = Entry(data, text, min(limit or self._limit, self._limit))
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
        if not entry.text or len(data) <= entry.limit:
            await self._socket.send(data, text=entry.text)
            return
        whole = data.decode()
        pieces = [whole[at : at + entry.limit] for at in range(0, len(whole), entry.limit)]
        frame_id = str(self._fragments)
        self._fragments += 1
        for number, piece in enumerate(pieces):
            fragment = {
                "op": "fragment",
                "id": frame_id,
                "data": piece,
                "num": number,
                "total": len(pieces),
            }
            await self._socket.send(orjson.dumps(fragment), text=True)
