"""The home suite: whole tasks in the simulated home, scored by ground truth alone."""

from quartet_benchmarks.home.suite import run

__all__ = ["run"]
