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
    """What one `subscribe` asked for; times in milliseconds."""

    throttle_rate: int = 0
    queue_length: int = 0
    compression: str = "none"


class Subscription:
    """Throttles, queues and encodes; the least demanding request of each kind wins."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._requests: dict[str | None, Request] = {}
        self._lane: deque[Entry] = deque()
        self._waiting: deque[Published] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._sent_at = float("-inf")
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
        wanted = {request.compression for request in requests}
        self._merged = Request(
            min(request.throttle_rate for request in requests),
            min(request.queue_length for request in requests),
            next((name for name in _COMPRESSIONS if name in wanted), "none"),
        )
        self._waiting = deque(self._waiting, maxlen=self._merged.queue_length or None)
        if self._timer is not None:
            # The rate may have become another one.
            self._timer.cancel()
            self._timer = None
            self._schedule()

    def receive(self, published: Published) -> None:
        """A message of the topic: send, queue or drop it."""
        if not self._remaining() and not self._waiting:
            self._send(published)
        elif self._merged.queue_length:
            self._waiting.append(published)
            self._schedule()

    def _remaining(self) -> float:
        """Time until the next message may be sent [s]."""
        due = self._sent_at + self._merged.throttle_rate / 1000.0
        return max(0.0, due - asyncio.get_running_loop().time())

    def _schedule(self) -> None:
        if self._timer is None and self._waiting:
            self._timer = asyncio.get_running_loop().call_later(self._remaining(), self._send_waiting)

    def _send_waiting(self) -> None:
        self._timer = None
        if self._waiting:
            self._send(self._waiting.popleft())
            self._schedule()

    def _send(self, published: Published) -> None:
        self._sent_at = asyncio.get_running_loop().time()
        compression = self._merged.compression
        text = compression not in ("cbor", "cbor-raw")
        self._outbox.put(frame(published, compression), text=text, lane=self._lane)
