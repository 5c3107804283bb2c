"""What is measured, and how it is reported.

A suite is a function `run(parameters: BenchParameters) -> BenchResult`, registered under its name as an entry point of
the group `quartet.bench` in this package's pyproject.toml; `quartet bench NAME` finds it there.
"""

from quartet_benchmarks._print import print_result
from quartet_benchmarks._result import BenchParameters, BenchResult, Rate, machine, percentile, wilson

__all__ = ["BenchParameters", "BenchResult", "Rate", "machine", "percentile", "print_result", "wilson"]
