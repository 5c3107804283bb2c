"""The fleet suite: what the bus takes, and many tasks over many robots."""

from quartet_benchmarks.fleet._suite import run

__all__ = ["run"]
