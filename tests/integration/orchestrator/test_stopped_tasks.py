"""A task that runs when a person stops the robot ends: it does not go on by itself after the reset."""

import asyncio

import pytest

from quartet_contracts import State
from quartet_orchestrator.observation import stops


async def press(motion, *, reset):
    for server in motion.values():
        server.stop()
        if reset:
            server.reset()


@pytest.mark.parametrize("reset", [True, False])
async def test_a_stop_while_the_model_thinks_ends_the_task(start, agents, model, motion, do, reset, monkeypatch):
    """The next call comes after the reset; whoever looks only now and then has not seen the stop."""
    monkeypatch.setattr(stops, "PERIOD_S", 1e6)
    agents.start()

    async def think(_messages):
        await press(motion, reset=reset)
        return do.pick()

    model.say(do.approach(), think, do.report(True))
    async with start() as client:
        status = await client.run()
    assert status.state is State.FAILED
    assert ("was stopped and reset" if reset else "was stopped while") in status.report.summary
    assert [skill for skill, _ in agents.calls] == ["approach"], "nothing was begun after the stop"
    assert len(model.requests) == 2, "the model is not asked on"


async def test_a_stop_while_an_agent_works_ends_its_request(start, agents, model, motion, do, monkeypatch):
    """An agent whose model thought while the stop came and went would move the robot again."""
    monkeypatch.setattr(stops, "PERIOD_S", 0.05)
    agents.answers["approach"] = [agents.until_canceled]
    agents.start()
    model.say(do.approach(), do.report(True))
    async with start() as client:
        task_id = await client.submit()
        await agents.started.wait()
        await press(motion, reset=True)
        await client.events(task_id)
        status = await client.status(task_id)
    assert status.state is State.FAILED
    assert "was stopped and reset" in status.report.summary
    (request,) = agents.requests
    assert [server.ended for server in motion.values()] == [[request.request_id]] * 2, "its motions are ended"


async def test_a_stop_while_nobody_runs_the_task_ends_it_too(start, agents, model, motion, do, monkeypatch):
    monkeypatch.setattr(stops, "PERIOD_S", 1e6)
    agents.start()
    thinking = asyncio.Event()

    async def think(_messages):
        thinking.set()
        await asyncio.sleep(60)

    model.say(do.approach(), think)
    async with start() as client:
        task_id = await client.submit()
        await thinking.wait()
    await press(motion, reset=True)
    model.say(do.pick())
    async with start() as client:
        await client.events(task_id)
        status = await client.status(task_id)
    assert status.state is State.FAILED
    assert "was stopped and reset" in status.report.summary
    assert [skill for skill, _ in agents.calls] == ["approach"]


async def test_a_stop_of_before_is_none_of_the_task(start, agents, model, motion, do):
    await press(motion, reset=True)
    agents.start()
    model.say(do.approach(), do.pick(), do.place(), do.report(True, do.delivered))
    async with start() as client:
        assert (await client.run()).state is State.SUCCEEDED


async def test_a_server_that_counts_no_stops_is_believed(start, agents, model, motion, do, monkeypatch):
    monkeypatch.setattr(stops, "PERIOD_S", 0.05)
    for server in motion.values():
        del server.health["stops"]
    agents.answers["approach"] = [agents.until_canceled]
    agents.start()
    model.say(do.approach(), do.report(False))
    async with start() as client:
        task_id = await client.submit()
        await agents.started.wait()
        motion["nav2"].health["stopped"] = True
        await client.events(task_id)
        assert "was stopped while" in (await client.status(task_id)).report.summary
