"""Normalised errors: whether told standard deviations are those of the true errors."""

from collections.abc import Iterable

import numpy as np

from quartet_benchmarks.result import Rate

EXPECTED = {1: 0.683, 2: 0.954}
"""Share of normal errors within so many standard deviations; half of them are within 0.674."""


class NormalisedErrors:
    """True errors in told standard deviations, of one kind of quantity."""

    def __init__(self) -> None:
        self._errors: list[float] = []

    def add(self, errors: Iterable[float], deviations: Iterable[float]) -> None:
        """Take in errors and the standard deviations that were told of each, in one unit."""
        self._errors += [float(abs(e) / d) for e, d in zip(errors, deviations, strict=True)]

    def metrics(self, name: str) -> dict[str, float | Rate]:
        """Return the shares within 1 and 2 standard deviations, and the median error in standard deviations."""
        errors = np.array(self._errors)
        found: dict[str, float | Rate] = {
            f"{name}_within_{k}sd": Rate(int((errors <= k).sum()), len(errors)) for k in EXPECTED
        }
        return found | {f"{name}_normalised_p50": float(np.median(errors)) if len(errors) else float("nan")}
