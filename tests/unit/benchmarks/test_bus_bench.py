"""The figures of the suite `bus`, and what it sends."""

import math

import pytest

from quartet_benchmarks.bus.suite import (
    DURABLE,
    FASTSTREAM,
    GRPC,
    NONE,
    PLAIN,
    QUARTET,
    STREAMS,
    Case,
    messages,
    ratio,
    summary,
)
from quartet_contracts import ApproachResult, SkillRequest

MEDIANS = {
    Case(QUARTET, PLAIN): [1.0, 6.0, 3.0],
    Case(QUARTET, DURABLE): [2.0, 2.0, 2.0],
    Case(STREAMS, PLAIN): [1.0, 5.0, 2.0],
    Case(STREAMS, DURABLE): [1.0, 1.0, 1.0],
    Case(FASTSTREAM, PLAIN): [2.0, 10.0, 8.0],
    Case(GRPC, NONE): [0.5, 3.0, 1.0],
}


def test_a_ratio_is_taken_within_a_round_so_that_load_hits_both() -> None:
    assert ratio(MEDIANS, Case(QUARTET, PLAIN), Case(STREAMS, PLAIN)) == pytest.approx(1.2)
    assert math.isnan(ratio(MEDIANS, Case(QUARTET, PLAIN), Case("celery", PLAIN)))


def test_each_ratio_is_to_the_bus_with_the_same_promise_about_the_disk() -> None:
    result = summary(MEDIANS, MEDIANS, {"nats": "no network"}, 3, 0.1)
    assert result.metrics["bus_over_faststream"] == pytest.approx(0.5)
    assert result.metrics["bus_over_grpc"] == pytest.approx(2.0)
    assert result.metrics["bus_durable_ms_p50"] == pytest.approx(2.0)
    assert result.metrics["bus_durable_over_streams"] == pytest.approx(2.0)
    assert result.as_json()["metrics"]["bus_durable_over_faststream"] is None
    rows = {(row["bus"], row["appendfsync"]): row for row in result.rows}
    assert rows[QUARTET, DURABLE]["by bare streams"] == 2.0
    assert rows[GRPC, NONE]["by bare streams"] == 0.5
    assert "nats is not in the table: no network" in result.notes


def test_what_goes_over_each_bus_is_a_request_and_a_result_of_the_contract() -> None:
    sent = messages()
    request = SkillRequest.model_validate(sent["request"])
    assert request.grant.count(".") == 2
    assert ApproachResult.model_validate(sent["result"]).request_id == request.request_id
