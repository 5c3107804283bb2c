"""Which motions somebody answers for at this moment, and which have fallen silent."""

from quartet_safety.guard._wire import DONE, names_source

MAX_SOURCES = 256
"""A robot has a handful of motions at a time; beyond this the oldest source lapses."""
STALL_S = 0.1
"""A look that comes this late [s] reads the heartbeats that have piled up before it judges."""


class Heartbeats:
    """Sources `<server>:<motion id>` that have begun and not said `<source>/done`.

    Every time is of a clock that only goes forward [s].
    """

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._last_beat: dict[str, float] = {}
        self._newest: float | None = None
        self._looked: float | None = None
        self._postponed = False

    @property
    def sources(self) -> list[str]:
        """The watched sources, sorted."""
        return sorted(self._last_beat)

    def beat(self, frame_id: str, now: float) -> bool:
        """Take a heartbeat or the end of a motion; return True when a motion begins. Ignores what names no source."""
        self._newest = now
        if not names_source(frame_id):
            return False
        source = frame_id.removesuffix(DONE)
        if source != frame_id:
            self._last_beat.pop(source, None)
            return False
        begins = source not in self._last_beat
        self._last_beat[source] = now
        return begins

    def forget(self) -> None:
        """Watch no source any more."""
        self._last_beat.clear()

    def lapsed(self, now: float) -> list[str]:
        """Return the sources that have been silent for longer than the time-out, and stop watching them.

        A source that beats again begins anew. A look that was itself late, as on a machine that stalled, postpones its
        verdict once: the beats of that time may wait in a queue behind this call.
        """
        late = self._looked is not None and now - self._looked > STALL_S
        self._looked = now
        if late and not self._postponed:
            self._postponed = True
            return []
        self._postponed = False
        silent = [source for source, at in self._last_beat.items() if now - at > self.timeout_s]
        if len(self._last_beat) - len(silent) > MAX_SOURCES:
            silent.append(min(self._last_beat.keys() - silent, key=self._last_beat.__getitem__))
        for source in silent:
            del self._last_beat[source]
        return sorted(silent)

    def age_s(self, now: float) -> float | None:
        """Return the time since the newest message on the topic [s]; None before the first."""
        return None if self._newest is None else now - self._newest
