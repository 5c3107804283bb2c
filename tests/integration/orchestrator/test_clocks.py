"""Clocks of orchestrator and motion servers that differ."""

import re
import time
from types import SimpleNamespace

import pytest

from quartet_contracts import State


async def robot_row(client):
    return (await client.http.get("/robots")).json()["robots"][0]


@pytest.mark.parametrize(("ahead_s", "words"), [(30.0, "ahead of"), (-5.0, "behind")])
async def test_a_difference_is_told_before_it_matters(client, motion, ahead_s, words, caplog):
    motion["moveit"].clock_ahead_s = ahead_s
    row = await robot_row(client)
    told = re.match(
        rf"the clock of robot 'summit', server 'moveit', is ([\d.]+) s {words} the orchestrator's", row["why"]
    )
    assert told, row["why"]
    assert float(told[1]) == pytest.approx(abs(ahead_s), abs=0.5), "the answer takes its time"
    assert row["state"] == "idle", "it works up to two seconds, and may work beyond"
    assert "chrony" in caplog.text
    metrics = (await client.http.get("/metrics")).text
    found = next(
        line for line in metrics.splitlines() if line.startswith("quartet_clock_skew_seconds{") and "moveit" in line
    )
    assert float(found.rsplit(" ", 1)[1]) == pytest.approx(ahead_s, abs=0.5)


async def test_clocks_that_agree_are_no_news(client):
    assert (await robot_row(client))["why"] == ""


async def test_a_server_whose_clock_is_put_right_keeps_no_step_from_being_begun(client, motion, model, do):
    refused = motion["nav2"]
    refused.clock_ahead_s, refused.clock_right_after = 500.0, 2
    model.say(do.approach(), do.report(True))
    status = await client.run("go to the kitchen")
    assert status.state is State.SUCCEEDED, status.report
    assert refused.refused == 2


async def test_an_own_clock_that_is_put_right_keeps_no_step_from_being_begun(client, motion, model, do, monkeypatch):
    refused = motion["nav2"]
    wrong_s = -500.0
    clock = SimpleNamespace(time=lambda: time.time() + (wrong_s if refused.refused < 2 else 0.0))
    monkeypatch.setattr("quartet_orchestrator.grants.time", clock)
    model.say(do.approach(), do.report(True))
    status = await client.run("go to the kitchen")
    assert status.state is State.SUCCEEDED, status.report
    assert refused.refused == 2
    assert refused.installed[0] == 1, "the same fence, under another token"


async def test_a_grant_that_expired_by_another_clock_is_not_told_as_a_wrong_key(client, motion, model, do, monkeypatch):
    monkeypatch.setattr("quartet_orchestrator.recovery.fencing.CLOCK_PATIENCE_S", 0.5)
    motion["nav2"].clock_ahead_s = 500.0
    model.say(do.approach(), do.report(True))
    status = await client.run("go to the kitchen")
    assert status.state is State.FAILED
    assert "synchronise the clocks" in status.report.summary
    assert "key" not in status.report.summary
