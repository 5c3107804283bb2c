"""The escapes suite: programs that try to leave the sandbox in which a model's code runs."""

from quartet_benchmarks.escapes.suite import run

__all__ = ["run"]
