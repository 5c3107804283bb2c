"""The time suite: over which parts of the system the wall time of the main job is spread, from its traces."""

from quartet_benchmarks.timing.suite import run

__all__ = ["run"]
