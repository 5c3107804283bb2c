"""The chaos suite: what is killed, frozen or repeated, and what became of the work."""

from quartet_benchmarks.chaos._suite import SHORT_REPEATS, SHORT_SLEEPERS, run, small_world

__all__ = ["SHORT_REPEATS", "SHORT_SLEEPERS", "run", "small_world"]
