"""The common result of the suites."""

import io
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy.stats import binomtest

from quartet_benchmarks import BenchResult, Rate, percentile, print_result, wilson
from quartet_benchmarks.result import clustered, student95


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (10, 10), (38, 40), (1, 2), (17, 300)])
def test_wilson_interval_is_that_of_scipy(successes: int, n: int) -> None:
    expected = binomtest(successes, n).proportion_ci(confidence_level=0.95, method="wilson")
    assert wilson(successes, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_nothing_is_known_without_trials() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_the_rate_and_stays_within_one(pair: tuple[int, int]) -> None:
    low, high = wilson(*pair)
    assert 0 <= low <= pair[0] / pair[1] <= high <= 1


def test_more_successes_than_trials_are_refused() -> None:
    with pytest.raises(ValueError, match=r"successes=3 must be within 0\.\.n=2"):
        wilson(3, 2)


def test_percentiles_interpolate() -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5
    assert percentile([1.0, 2.0], 1.0) == 2.0
    assert math.isnan(percentile([], 0.5))


def test_the_json_has_the_common_shape() -> None:
    result = BenchResult(
        "home", {"seed": 1}, {"feasible_success_rate": Rate(3, 4), "false_successes": 0, "x": math.nan}, [{"a": 1}]
    )
    shape = json.loads(json.dumps(result.as_json(), allow_nan=False))
    assert set(shape) >= {"suite", "commit", "machine", "parameters", "metrics", "rows"}
    assert set(shape["machine"]) == {"cores", "memory_gb", "python"}
    assert shape["metrics"] == {"feasible_success_rate": 0.75, "false_successes": 0, "x": None}
    assert shape["intervals"]["feasible_success_rate"]["n"] == 4


def test_a_figure_without_end_is_null_in_the_json_too() -> None:
    """A task that never ended is infinitely late."""
    rows = [{"overrun_s": math.inf, "of": [math.nan, 1.5]}]
    shape = json.loads(json.dumps(BenchResult("x", {}, {"max": math.inf}, rows, rows).as_json(), allow_nan=False))
    assert shape["metrics"] == {"max": None}
    assert shape["rows"] == shape["details"] == [{"overrun_s": None, "of": [None, 1.5]}]


def test_the_table_shows_every_rate_with_n_and_interval() -> None:
    out = io.StringIO()
    print_result(
        BenchResult("home", {}, {"rate": Rate(38, 40), "ms": 1.5}, [{"a": 1, "b": None}, {"a": 2, "c": "x"}]),
        Console(file=out, width=140),
    )
    text = out.getvalue()
    assert "38/40" in text
    assert "0.835 to 0.986" in text


def test_on_a_narrow_terminal_nothing_of_the_rows_is_cut_off() -> None:
    row = {"template": "object is not there", "n": 1, "wall_s_p50": 12.19, "tool_calls": 80.0, "codes": "ABC_" * 12}
    out = io.StringIO()
    print_result(BenchResult("home", {}, {}, [row]), Console(file=out, width=60))
    lines = out.getvalue().splitlines()
    assert "wall_s_p50" in out.getvalue()
    assert "12.19" in out.getvalue()
    assert "".join(line[-20:].strip() for line in lines if "ABC" in line or "_" in line[-20:]).endswith("ABC_")
    assert "…" not in out.getvalue()
    assert max(map(len, lines[1:])) <= 60


def test_a_note_that_quotes_a_log_is_printed_as_it_is() -> None:
    console = Console(file=io.StringIO(), width=100)
    print_result(BenchResult("x", {}, {}, notes=["last lines of [/tmp/pick.log]: [warning] lost"]), console)
    assert "last lines of [/tmp/pick.log]: [warning] lost" in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_cell_that_quotes_an_error_is_printed_as_it_is() -> None:
    console = Console(file=io.StringIO(), width=100)
    row = {"codes": "[UNKNOWN] no answer from [/gateway]"}
    print_result(BenchResult("x", {"seed [1]": 1}, {}, [row]), console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "[UNKNOWN] no answer from [/gateway]" in shown
    assert "seed [1] 1" in shown


def test_an_interval_of_clusters_holds_where_trials_of_a_home_go_alike() -> None:
    rng = np.random.default_rng(5)
    held = {"clustered": 0, "wilson": 0}
    for _ in range(400):
        # Of 12 homes with 8 trials each, the rate of a home is drawn from Beta(4, 1), whose mean is 0.8.
        clusters = [(int(rng.binomial(8, share)), 8) for share in rng.beta(4, 1, 12)]
        successes = sum(good for good, _ in clusters)
        for name, (low, high) in (("clustered", clustered(clusters)), ("wilson", wilson(successes, 96))):
            held[name] += low <= 0.8 <= high
    assert held["clustered"] / 400 > 0.92
    assert held["wilson"] / 400 < 0.90, "which takes the trials for independent ones"


def test_an_interval_of_clusters_is_never_narrower_than_that_of_independent_trials() -> None:
    for clusters in ([(4, 5)] * 20, [(5, 5)] * 20, [(0, 1), (3, 3), (9, 10)], [(1, 1)] * 30):
        low, high = clustered(clusters)
        a, b = wilson(sum(good for good, _ in clusters), sum(n for _, n in clusters))
        assert 0 <= low <= a <= b <= high <= 1
    assert clustered([(9, 10)]) == (0.0, 1.0), "one home says nothing of others"
    assert clustered([(9, 10), (0, 0)]) == (0.0, 1.0)
    assert Rate(9, 10, ((5, 5), (4, 5))).interval == clustered([(5, 5), (4, 5)])


@pytest.mark.parametrize(("freedom", "quantile"), [(1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (19, 2.093)])
def test_student_quantiles_are_those_of_tables(freedom: int, quantile: float) -> None:
    assert student95(freedom) == pytest.approx(quantile, rel=0.006)
