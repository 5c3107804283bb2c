"""One client's subscriptions to one topic, joined into one stream as rosbridge_library does."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from quartet_simulation.bridge.encoding import frame
from quartet_simulation.bridge.outbox import Entry, Outbox
from quartet_simulation.ros.graph import Published

_COMPRESSIONS = ("cbor-raw", "cbor", "png")


@dataclass(frozen=True)
class Request:
    """What one `subscribe` asked for; times in milliseconds, sizes in characters."""

    throttle_rate: int = 0
    queue_length: int = 0
    fragment_size: int | None = None
    compression: str = "none"


class Subscription:
    """Throttles, queues and encodes; the least demanding request of each kind wins."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._requests: dict[str | None, Request] = {}
        self._lane: deque[Entry] = deque()
        self._waiting: deque[Published] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0.0
        self._merged = Request()

    def add(self, sid: str | None, request: Request) -> None:
        """Add a request of the client under its id."""
        self._requests[sid] = request
        self._merge()

    def remove(self, sid: str | None) -> bool:
        """Forget one request, or all without a sid; True when none is left."""
        if sid is None:
            self._requests.clear()
        else:
            self._requests.pop(sid, None)
        if self._requests:
            self._merge()
            return False
        self.close()
        return True

    def close(self) -> None:
        """End the subscription."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._waiting.clear()

    def _merge(self) -> None:
        requests = self._requests.values()
        sizes = [request.fragment_size for request in requests if request.fragment_size is not None]
        wanted = {request.compression for request in requests}
        self._merged = Request(
            min(request.throttle_rate for request in requests),
            min(request.queue_length for request in requests),
            min(sizes, default=None),
            next((name for name in _COMPRESSIONS if name in wanted), "none"),
        )
        self._waiting = deque(self._waiting, maxlen=self._merged.queue_length or None)

    def receive(self, published: Published) -> None:
        """A message of the topic: send, queue or drop it."""
        interval = self._merged.throttle_rate / 1000.0
        now = asyncio.get_running_loop().time()
        if interval <= 0:
            self._send(published)
        elif now >= self._next and not self._waiting:
            self._next = now + interval
            self._send(published)
        elif self._merged.queue_length:
            self._waiting.append(published)
            self._schedule(now)

    def _schedule(self, now: float) -> None:
        if self._timer is None and self._waiting:
            delay = max(0.0, self._next - now)
            self._timer = asyncio.get_running_loop().call_later(delay, self._send_waiting)

    def _send_waiting(self) -> None:
        self._timer = None
        if self._waiting:
            now = asyncio.get_running_loop().time()
            self._next = now + self._merged.throttle_rate / 1000.0
            self._send(self._waiting.popleft())
            self._schedule(now)

    def _send(self, published: Published) -> None:
        compression = self._merged.compression
        text = compression not in ("cbor", "cbor-raw")
        self._outbox.put(frame(published, compression), text, self._merged.fragment_size, self._lane)
