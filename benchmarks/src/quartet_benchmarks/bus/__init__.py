"""What Quartet's bus costs from a request to its result, beside bare streams and what else people use for that."""

from quartet_benchmarks.bus.suite import run

__all__ = ["run"]
