"""Suites of measurements, and the common form of their results.

A suite is a module with `run(parameters: BenchParameters) -> BenchResult`, named in command.SUITES.
"""

from quartet_benchmarks.print import print_result
from quartet_benchmarks.result import BenchParameters, BenchResult, Rate, machine, percentile, wilson

__all__ = ["BenchParameters", "BenchResult", "Rate", "machine", "percentile", "print_result", "wilson"]
