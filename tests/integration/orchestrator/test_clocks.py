"""Clocks of orchestrator and motion servers that differ, or are set while a task runs."""

import asyncio
import re
import time
from datetime import datetime
from types import SimpleNamespace

import pytest

from quartet_contracts import State
from support.store import KEYS, command


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
    labels = 'quartet_clock_skew_seconds{robot="summit",server="moveit"} '
    found = next(line for line in metrics.splitlines() if line.startswith(labels))
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


@pytest.fixture
def set_clock(monkeypatch):
    """Set the wall clock of the orchestrator, with which the agents of these tests and the servers agree."""
    clock = time.time

    def set_by(by_s):
        class Moved(datetime):
            @classmethod
            def now(cls, tz=None):
                return datetime.fromtimestamp(clock() + by_s, tz)

        monkeypatch.setattr(time, "time", lambda: clock() + by_s)
        monkeypatch.setattr("jwt.api_jwt.datetime", Moved)

    return set_by


@pytest.mark.parametrize("by_s", [3600.0, -3600.0])
async def test_a_clock_that_is_set_while_a_skill_works_ends_no_task(client, agents, model, do, set_clock, by_s):
    async def work(*_):
        set_clock(by_s)
        return agents.OK

    agents.answers["approach"] = [work]
    model.say(do.approach(), do.pick(), do.report(False, summary="as far as it was wanted"))
    status = await client.run(timeout_s=600)
    assert [skill for skill, _ in agents.calls] == ["approach", "pick"], status.report
    assert "as far as it was wanted" in status.report.summary
    assert status.task.deadline - status.updated_at == pytest.approx(600, abs=120), "by the clock as it is now"


async def test_a_clock_that_is_set_back_prolongs_no_task(client, agents, model, do, set_clock):
    """What is left is counted again when the task's state changes, as by a question."""

    async def work(*_):
        set_clock(-3600.0)
        return agents.OK

    agents.answers["approach"] = [work]
    agents.answers["pick"] = [agents.until_canceled]
    model.say(do.approach(), ("ask_person", {"question": "Which table?"}), do.pick(), do.report(False))
    async with asyncio.timeout(60):
        task_id = await client.submit(timeout_s=3)
        await client.until_state(task_id, State.PAUSED)
        assert (await client.http.post(f"/tasks/{task_id}/answer", json={"text": "both"})).status_code == 200
        await client.events(task_id)
    status = await client.status(task_id)
    assert status.state is State.FAILED
    assert "was not done within its 3 s of work" in status.report.summary


async def test_a_clock_that_is_set_takes_no_time_from_a_question(client, agents, model, do, set_clock):
    model.say(("ask_person", {"question": "Which table?"}), do.report(False))
    task_id = await client.submit()
    await client.until_state(task_id, State.PAUSED)
    set_clock(3600.0)
    question = await agents.bus.questions.current(task_id)
    # A signal lets the orchestrator look again, with the clock as it is now.
    await command(agents.bus, "PUBLISH", KEYS.signal(f"answer:{question.question_id}"), "")
    answer = await client.http.post(f"/tasks/{task_id}/answer", json={"text": "the wooden one"})
    assert answer.status_code == 200, answer.text
    await client.events(task_id)
    assert model.results() == [{"ok": True, "answer": "the wooden one"}]
