"""The fleet suite: latency of the bus, many tasks over many robots, and robots that cross."""

from quartet_benchmarks.fleet.suite import run

__all__ = ["run"]
