"""A cancel reaches whatever runs, the robot rests, and the task is CANCELED once."""

import asyncio

import jwt
import pytest

from quartet_contracts import State


@pytest.fixture
def moving(agents, model, do):
    """A drive that goes on until it is canceled."""
    agents.answers["approach"] = [agents.until_canceled]
    model.say(do.approach(), do.report(False))
    return agents


async def cancel(client, task_id, **body):
    answer = await client.http.post(f"/tasks/{task_id}/cancel", json=body or None)
    assert answer.status_code == 202, answer.text
    return answer.json()


async def test_a_running_skill_is_canceled_and_waited_for(client, moving):
    task_id = await client.submit()
    await moving.started.wait()
    await cancel(client, task_id, reason="the cat is in the way")
    await cancel(client, task_id)
    events = await client.events(task_id)
    status = await client.status(task_id)
    assert status.state is State.CANCELED
    assert status.report.summary.startswith("the cat is in the way. approach: canceled; the robot was brought to rest")
    states = [e.event.state for e in events if e.event.kind == "state"]
    assert states == ["INITIALIZING", "RUNNING", "CANCELING", "CANCELED"]
    kinds = [e.event.kind for e in events]
    assert kinds.index("skill_result") < len(kinds) - 2
    assert (await cancel(client, task_id))["state"] == "CANCELED"


async def test_a_cancel_goes_to_the_servers_too_and_latches_nothing(client, moving, motion, eventually):
    """So that the robot rests also when the agent does not hear of it."""
    task_id = await client.submit()
    await moving.started.wait()
    await cancel(client, task_id)
    await client.until_state(task_id, State.CANCELED)
    request = moving.requests[0].request_id
    assert {name: server.ended for name, server in motion.items()} == {"nav2": [request], "moveit": [request]}


async def test_what_is_held_is_kept_and_told(client, agents, model, do, eventually):
    agents.answers["approach"] = [agents.OK, agents.until_canceled]
    model.say(do.approach(), do.pick(), do.drop, do.report(False))
    task_id = await client.submit()
    await eventually(lambda: len(agents.calls) == 3)
    await cancel(client, task_id)
    status = await client.until_state(task_id, State.CANCELED)
    assert "The robot keeps holding the red coke can." in status.report.summary
    assert not status.report.objects[0].completed


async def test_a_queued_task_is_canceled_at_once(client, moving):
    first = await client.submit()
    second = await client.submit()
    await moving.started.wait()
    assert (await cancel(client, second))["state"] == "CANCELED"
    events = await client.events(second)
    assert [e.event.kind for e in events] == ["report", "state"]
    await cancel(client, first)
    await client.until_state(first, State.CANCELED)
    assert len(moving.calls) == 1


async def test_a_robot_that_may_still_move_is_not_called_canceled(client, agents, model, do):
    async def gives_no_word(_, delivery):
        await agents.bus.skills(delivery.request.skill).canceled(delivery.request.request_id)
        return do.failing("UNKNOWN", State.UNCERTAIN, reason="standstill was not confirmed")

    agents.answers["approach"] = [gives_no_word]
    model.say(do.approach(), do.report(False))
    task_id = await client.submit()
    await agents.started.wait()
    await cancel(client, task_id)
    status = await client.until_state(task_id, State.FAILED)
    assert "standstill was not confirmed" in status.report.summary
    assert "look before you go on" in status.report.summary


async def test_a_refused_cancel_is_told_in_journal_and_report(start, agents, model, standstill, do):
    """An action server takes no cancel: whoever asked for it learns which one, and what it said."""
    standstill.refuses = "/navigate_to_pose was not canceled: the robot refused or goes on; use the stop button"

    async def gives_no_word(_, delivery):
        await agents.bus.skills(delivery.request.skill).canceled(delivery.request.request_id)
        return do.failing("UNKNOWN", State.UNCERTAIN, reason="r" * 2000)

    agents.answers["approach"] = [gives_no_word]
    agents.start()
    model.say(do.approach(), do.report(False))
    async with start(servers=standstill.servers, outcome_patience_s=0.1) as client:
        task_id = await client.submit()
        await agents.started.wait()
        await cancel(client, task_id)
        status = await client.until_state(task_id, State.FAILED)
        events = await client.events(task_id)
    (settled,) = [e.event for e in events if e.event.kind == "skill_settled"]
    told = f"nav2__cancel_navigation: {standstill.refuses}"
    assert told in settled.reason
    assert told in status.report.summary


async def test_an_agent_that_ignores_the_cancel_does_not_hold_the_task_for_ever(start, agents, model, motion, do):
    """The task ends, and the servers take the robot from the agent."""

    async def deaf(*_):
        await asyncio.Event().wait()

    agents.answers["approach"] = [deaf]
    agents.start()
    model.say(do.approach(), do.report(False))
    async with start(cancel_wait_s=0.5) as client:
        task_id = await client.submit()
        await agents.started.wait()
        await cancel(client, task_id)
        status = await client.until_state(task_id, State.FAILED)
    assert "the approach agent did not report within" in status.report.summary
    assert "its motions were ended at the servers" in status.report.summary
    (grant,) = [request.grant for request in agents.requests]
    granted = jwt.decode(grant, options={"verify_signature": False})["fence"]
    assert {server.fence for server in motion.values()} == {granted + 1}, "its grant is void"


async def test_a_robot_that_cannot_be_taken_back_is_told(start, agents, model, motion, do):
    async def deaf(*_):
        await asyncio.Event().wait()

    agents.answers["approach"] = [deaf]
    agents.start()
    model.say(do.approach(), do.report(False))
    async with start(cancel_wait_s=0.3, fence_timeout_s=0.6) as client:
        task_id = await client.submit()
        await agents.started.wait()
        motion["moveit"].broken = True
        await cancel(client, task_id)
        status = await client.until_state(task_id, State.FAILED)
    assert "its motions could not be ended at the servers" in status.report.summary


async def test_a_cancel_while_the_model_thinks(client, agents, model, do):
    thinking, never = asyncio.Event(), asyncio.Event()

    async def think():
        thinking.set()
        await never.wait()

    model.say(lambda _: think())
    task_id = await client.submit()
    await thinking.wait()
    await cancel(client, task_id)
    status = await client.until_state(task_id, State.CANCELED)
    assert agents.calls == []
    assert status.report.summary == "canceled by a person."
    never.set()


async def test_a_pick_that_succeeds_while_it_is_canceled_is_told(client, agents, model, do):
    async def too_late(_, delivery):
        await agents.bus.skills(delivery.request.skill).canceled(delivery.request.request_id)
        return agents.OK

    agents.answers["pick"] = [too_late]
    model.say(do.pick(), do.report(False))
    task_id = await client.submit()
    await agents.started.wait()
    await cancel(client, task_id)
    status = await client.until_state(task_id, State.CANCELED)
    assert "The robot keeps holding the red coke can." in status.report.summary
