"""The clock that counts through a suspend, and comparison of the clocks of two processes."""

import time

_BOOT_TIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def boot_time() -> float:
    """Return the time since an unknown moment, with that which the machine was suspended [s].

    No setting of the wall clock moves it. Linux stops time.monotonic() while the machine is suspended, so that a grant
    would outlive its end by that time. Where the system has no such clock, it is time.monotonic().
    """
    return time.monotonic() if _BOOT_TIME is None else time.clock_gettime(_BOOT_TIME)


def clock_skew(told: float, sent_at: float, received_at: float) -> float:
    """Return how far the clock that told its time is ahead of this process's [s], negative behind.

    The other side looked at its clock somewhere between `sent_at` and `received_at` of this one [Unix s]: what can be
    explained by that is no difference.
    """
    return max(0.0, told - received_at) + min(0.0, told - sent_at)
