"""What every process answers to GET /metrics."""

import asyncio
import time

import pytest
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.parser import text_string_to_metric_families

from quartet_process import Exposition, LabelValues, Secret

BASICS = {
    "process_cpu_seconds",
    "process_resident_memory_bytes",
    "process_open_fds",
    "process_start_time_seconds",
    "quartet_build_info",
    "quartet_event_loop_lag_seconds",
}


def families(body: bytes) -> dict[str, float]:
    """The first sample of each family, by the family's name."""
    found = list(text_string_to_metric_families(body.decode()))
    assert len({family.name for family in found}) == len(found), "a family is told twice"
    return {family.name: family.samples[0].value for family in found if family.samples}


async def test_the_registries_and_the_basics_are_told_each_family_once() -> None:
    one, two = CollectorRegistry(), CollectorRegistry()
    Counter("quartet_one", "One", registry=one).inc(3)
    Counter("quartet_two", "Two", registry=two)
    for _ in range(2):
        status, kind, body = Exposition("pick", one, two).answer(None)
        assert (status, kind.split(";")[0]) == (200, "text/plain")
        found = families(body)
        assert found.keys() >= BASICS | {"quartet_one", "quartet_two"}
        assert found["quartet_one"] == 3
        assert found["process_resident_memory_bytes"] > 1e6
    assert b'quartet_build_info{process="pick"' in body


async def test_with_a_token_nothing_is_told_without_it() -> None:
    exposition = Exposition("pick", token=Secret.fixed("sixteen-letters-and-more"))
    for given in (None, "", "Bearer", "Bearer wrong", "Basic sixteen-letters-and-more"):
        status, _, body = exposition.answer(given)
        assert status == 401, given
        assert b"QUARTET_METRICS_TOKEN" in body
        assert b"process_" not in body
    assert exposition.answer("Bearer sixteen-letters-and-more")[0] == 200


async def test_the_lag_is_how_long_the_event_loop_was_held_up() -> None:
    exposition = Exposition("pick")
    exposition.answer(None)
    await asyncio.sleep(0)
    time.sleep(0.8)  # noqa: ASYNC251 what is measured
    assert families(exposition.answer(None)[2])["quartet_event_loop_lag_seconds"] > 0.25


@pytest.mark.parametrize("hostile", ["x" * 101, "fifth"])
def test_a_label_takes_only_so_many_values(hostile: str) -> None:
    values = LabelValues(limit=4)
    assert [values(name) for name in ("a", "b", "c", "d")] == ["a", "b", "c", "d"]
    assert values(hostile) == "other"
    assert values("a") == "a"
