"""Which motions somebody still answers for: sources that have begun to beat and not said that they are done."""

from __future__ import annotations

import re

DONE = "/done"
_SOURCE = re.compile(r"[^\s:/]{1,64}:[^\s/]{1,128}")
MAX_SOURCES = 256
"""A robot has a handful of motions at a time; more is a client gone mad, whose oldest source lapses."""
STALL_S = 0.1
"""A watch that comes this late was held up itself, and beats of that time wait behind it: it looks again first."""


class Heartbeats:
    """Sources are `<server>:<motion id>`; all times are monotonic [s]."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self.newest: float | None = None
        """When any source beat last."""
        self._beats: dict[str, float] = {}
        self._looked: float | None = None
        self._put_off = False

    def beat(self, frame_id: str, now: float) -> bool:
        """A heartbeat, or the word that a motion is done; what is no source is not watched. True when one begins."""
        source = frame_id.removesuffix(DONE)
        self.newest = now
        if not _SOURCE.fullmatch(source):
            return False
        if source != frame_id:
            self._beats.pop(source, None)
            return False
        begins = source not in self._beats
        self._beats[source] = now
        return begins

    def forget(self) -> None:
        """Nothing is watched any more."""
        self._beats.clear()

    def lapsed(self, now: float) -> list[str]:
        """The sources that have been silent for too long; from now on they are not watched."""
        late = self._looked is not None and now - self._looked > STALL_S
        self._looked = now
        if late and not self._put_off:
            self._put_off = True
            return []
        self._put_off = False
        gone = [source for source, at in self._beats.items() if now - at > self.timeout_s]
        if len(self._beats) - len(gone) > MAX_SOURCES:
            gone.append(min(self._beats.keys() - gone, key=self._beats.__getitem__))
        for source in gone:
            del self._beats[source]
        return gone
