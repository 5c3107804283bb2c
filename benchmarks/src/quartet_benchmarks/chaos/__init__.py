"""The chaos suite: what is killed, and what became of the work."""

from quartet_benchmarks.chaos._suite import run

__all__ = ["run"]
