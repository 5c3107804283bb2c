"""Mutated messages on every surface of a running stack: nothing crashes, nothing moves, memory stays flat."""

from quartet_benchmarks.mutations._suite import Report, play, run

__all__ = ["Report", "play", "run"]
