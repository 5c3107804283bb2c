"""Who moves the robot at this moment, and whether they are still there."""

import re

DONE = "/done"
_SOURCE = re.compile(r"[^\s:/]{1,64}:[^\s/]{1,128}")
MAX_SOURCES = 256
"""A robot has a handful of motions at a time; more is a client gone mad, and its oldest source lapses."""
STALL_S = 0.1
"""A watch that was itself away this long [s] looks once at what has piled up before it judges."""


def names_source(frame_id: str) -> bool:
    """Whether a heartbeat's frame_id is `<server>:<motion id>` or `<server>:<motion id>/done`."""
    return _SOURCE.fullmatch(frame_id.removesuffix(DONE)) is not None


class Heartbeats:
    """Sources `<server>:<motion id>` that have begun and not said `<source>/done`.

    Times are those of a clock that only goes forward [s].
    """

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._last_beat: dict[str, float] = {}
        self._newest: float | None = None
        self._looked: float | None = None
        self._excused = False

    @property
    def sources(self) -> list[str]:
        """Those that are watched."""
        return sorted(self._last_beat)

    def beat(self, frame_id: str, now: float) -> bool:
        """Note a heartbeat, or the word that a motion is done. True: a motion begins. What names no source is not
        watched."""
        self._newest = now
        source = frame_id.removesuffix(DONE)
        if not names_source(frame_id):
            return False
        if source != frame_id:
            self._last_beat.pop(source, None)
            return False
        begins = source not in self._last_beat
        self._last_beat[source] = now
        return begins

    def lapsed(self, now: float) -> list[str]:
        """Sources that have been silent for longer than the limit; they are watched no longer.

        A source that beats again begins anew. When the watch itself was away, as on a machine that stalled, it puts
        its verdict off once: the beats of that time may lie in a queue behind this call.
        """
        away = self._looked is not None and now - self._looked > STALL_S
        self._looked = now
        if away and not self._excused:
            self._excused = True
            return []
        self._excused = False
        silent = [source for source, at in self._last_beat.items() if now - at > self.timeout_s]
        if len(self._last_beat) - len(silent) > MAX_SOURCES:
            silent.append(min(self._last_beat.keys() - silent, key=self._last_beat.__getitem__))
        for source in silent:
            del self._last_beat[source]
        return sorted(silent)

    def age_s(self, now: float) -> float | None:
        """Since the newest message on the topic; None before the first."""
        return None if self._newest is None else now - self._newest
