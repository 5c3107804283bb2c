"""Whether the caller of a running motion still lives."""

LATE_S = 0.1
"""A look that comes this late was held up by this process, and heartbeats of that time wait behind it."""


class CallerWatch:
    """Heartbeats of one caller; times are monotonic [s]. The call itself is the first."""

    def __init__(self, timeout_s: float, now: float) -> None:
        self._timeout_s = timeout_s
        self._heard = self._looked = now
        self._put_off = False

    def beat(self, now: float) -> None:
        self._heard = now

    def age_s(self, now: float) -> float:
        """Since the last beat [s]."""
        return now - self._heard

    def silence(self, now: float) -> float | None:
        """How long the caller has been silent when that is too long; None while it lives.

        To be asked often: a look that comes late itself is put off once, so that beats that have arrived are read.
        """
        late = now - self._looked > LATE_S
        self._looked = now
        if late and not self._put_off:
            self._put_off = True
            return None
        self._put_off = False
        silent = now - self._heard
        return silent if silent > self._timeout_s else None
