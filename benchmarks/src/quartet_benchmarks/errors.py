"""Errors of the benchmarks.

BenchmarkError
├── UnknownSuiteError     there is no suite of this name
├── OptionError           an option of a suite has a value that there is not, or another one is missing
├── MissingExtraError     what the suite needs is an extra that is not installed
├── BudgetSpentError      the next call of a model could cost more than is left
├── UnfitPlacementError   the objects of a seed do not fit the episode that is wanted
└── MeasurementError      what is measured did not start, move or answer, so there is no figure
"""

from quartet_deployment import StackError


class BenchmarkError(Exception):
    """Base of every error of the benchmarks."""


class UnknownSuiteError(BenchmarkError, LookupError):
    """There is no suite of this name."""


class OptionError(BenchmarkError, LookupError):
    """An option of a suite has a value that there is not, or another one is missing."""


class MissingExtraError(BenchmarkError, LookupError):
    """What the suite needs is an extra that is not installed."""


class BudgetSpentError(BenchmarkError):
    """The next call of a model could cost more than is left."""


class UnfitPlacementError(BenchmarkError):
    """The objects of a seed do not fit the episode that is wanted; try another seed.

    `reason` is the same without names and numbers, to be counted.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason or message


class MeasurementError(BenchmarkError, StackError):
    """What is measured did not start, move or answer, so there is no figure."""
