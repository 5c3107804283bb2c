"""The gate between whoever commands velocities and the base's driver: commands grow stale, and none passes a stop."""

import math
from collections.abc import Sequence


class VelocityGate:
    """Lets velocities pass while the robot is not held.

    Every time is of a clock that only goes forward [s].

    Args:
        timeout_s: after this a velocity that nobody repeats moves the base no longer [s].
    """

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._moving_since: float | None = None

    def passes(self, components: Sequence[float], *, held: bool, now: float) -> bool:
        """Return whether a command goes on to the driver; if not, a zero goes in its place."""
        if held or not all(math.isfinite(value) for value in components):
            self._moving_since = None
            return False
        self._moving_since = now if any(components) else None
        return True

    def stale(self, now: float) -> bool:
        """Return True once after a command of motion that nothing followed: the driver is due a zero."""
        if self._moving_since is None or now - self._moving_since <= self.timeout_s:
            return False
        self._moving_since = None
        return True
