"""Told standard deviations are compared with true errors."""

import math

from quartet_benchmarks.normalised_errors import NormalisedErrors
from quartet_benchmarks.result import Rate


def test_errors_are_counted_in_the_deviations_that_were_told() -> None:
    errors = NormalisedErrors()
    errors.add([0.5, -1.5], [1.0, 1.0])
    errors.add([-5.0], [2.0])
    assert errors.metrics("x") == {"x_within_1sd": Rate(1, 3), "x_within_2sd": Rate(2, 3), "x_normalised_p50": 1.5}


def test_nothing_told_is_no_figure() -> None:
    found = NormalisedErrors().metrics("x")
    assert found["x_within_1sd"] == Rate(0, 0)
    assert isinstance(found["x_normalised_p50"], float)
    assert math.isnan(found["x_normalised_p50"])
