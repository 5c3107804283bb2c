"""Comparison of the clocks of two processes."""


def clock_skew(told: float, sent_at: float, received_at: float) -> float:
    """Return how far the clock that told its time is ahead of this process's [s], negative behind.

    The other side looked at its clock somewhere between `sent_at` and `received_at` of this one [Unix s]: what can be
    explained by that is no difference.
    """
    return max(0.0, told - received_at) + min(0.0, told - sent_at)
