"""A success that an agent made up: what the gripper's sensors say counts, also for a result that is taken over."""

import pytest

from quartet_contracts import PlaceResult, Skill, State
from support.store import KEYS, command

HELD = {"success": True, "error_code": "NONE", "reason": "it lies there", "state": State.SUCCEEDED}


def results(events, skill):
    return [
        (e.event.success, e.event.state) for e in events if e.event.kind == "skill_result" and e.event.skill == skill
    ]


@pytest.mark.parametrize("skill", ["pick", "place"])
async def test_a_success_that_the_gripper_does_not_confirm_is_none(client, model, agents, do, skill):
    agents.answers[skill] = [HELD]
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.look, do.report(True, do.delivered))
    task_id = await client.submit()
    events = await client.events(task_id)
    status = await client.status(task_id)
    assert status.state is State.FAILED, status.report
    assert results(events, skill)[0] == (False, State.UNCERTAIN)
    assert any("the gripper's sensors say" in r.get("reason", "") for r in model.results())


async def test_a_success_is_measured_after_the_grant_is_void(client, model, agents, motion, gripper, do):
    """An agent that holds the object until the look is over has nothing left to hold it with."""
    seen = []
    read = gripper.read

    def look():
        seen.append({server.fence for server in motion.values()})
        return read()

    gripper.read = look
    model.say(do.approach(), do.pick(), do.report(False))
    await client.run()
    assert seen == [{4}], "the grant of the pick had fence 3"


async def test_a_forged_result_that_is_taken_over_is_none_either(start, model, agents, do, eventually):
    """Written while no orchestrator ran, by an agent in its own name for a request that it was given."""
    agents.answers["place"] = [agents.until_canceled]
    agents.start()
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.look, do.report(True, do.delivered))
    async with start() as client:
        task_id = await client.submit()
        await eventually(lambda: agents.requests and agents.requests[-1].skill is Skill.PLACE)
    request = agents.requests[-1]
    forged = PlaceResult(request_id=request.request_id, task_id=task_id, **HELD)
    await command(agents.bus, "SET", KEYS.done("skill:place", request.request_id), forged.model_dump_json())
    async with start() as client:
        events = await client.events(task_id)
        status = await client.status(task_id)
    assert status.state is State.FAILED, status.report
    assert results(events, "place") == [(False, State.UNCERTAIN)]
