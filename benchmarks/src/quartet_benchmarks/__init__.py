"""What is measured, and how it is reported.

A suite is a module with `run(parameters: BenchParameters) -> BenchResult`, named in command.SUITES.
"""

from quartet_benchmarks._print import print_result
from quartet_benchmarks._result import BenchParameters, BenchResult, Rate, machine, percentile, wilson

__all__ = ["BenchParameters", "BenchResult", "Rate", "machine", "percentile", "print_result", "wilson"]
