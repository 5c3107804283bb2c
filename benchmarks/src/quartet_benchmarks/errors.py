"""Errors of the benchmarks.

BenchmarkError
├── UnknownSuiteError     there is no suite of this name
├── UnfitPlacementError   the objects of a seed do not fit the episode that is wanted
└── MeasurementError      what is measured did not start, move or answer, so there is no figure
"""


class BenchmarkError(Exception):
    """Base of every error of the benchmarks."""


class UnknownSuiteError(BenchmarkError, LookupError):
    """There is no suite of this name."""


class UnfitPlacementError(BenchmarkError):
    """The objects of a seed do not fit the episode that is wanted; try another seed."""


class MeasurementError(BenchmarkError, RuntimeError):
    """What is measured did not start, move or answer, so there is no figure."""
