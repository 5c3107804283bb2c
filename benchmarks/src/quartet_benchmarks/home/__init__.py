"""The home suite: whole tasks in the simulated home, scored by ground truth alone."""

from quartet_benchmarks.home._suite import run

__all__ = ["run"]
