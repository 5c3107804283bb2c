"""A Redis that comes back without its data while a robot works."""

from quartet_bus import Bus, BusOptions
from quartet_contracts import Skill, State


async def row(client):
    return (await client.http.get("/robots")).json()["robots"][0]


async def test_a_lost_store_ends_the_work_and_the_robot_rests_before_it_is_idle(
    make_redis, start, standstill, model, motion, do, eventually
):
    server = make_redis()
    model.say(do.approach(), do.report(True))
    changes = {"redis_url": server.url, "servers": standstill.servers, "cancel_wait_s": 1.0}
    async with (
        await Bus.connect(server.url, BusOptions(lease_s=1, block_ms=100)) as bus,
        start(**changes) as client,
    ):
        task_id = await client.submit("go to the kitchen")
        delivery = await bus.skills(Skill.APPROACH).take(60)
        await bus.skills(Skill.APPROACH).mark_started(delivery)
        fence = motion["nav2"].fence
        server.kill()
        server.start()
        await eventually(lambda: motion["nav2"].ended == motion["moveit"].ended == [delivery.request.request_id])
        status = await client.until_state(task_id, State.FAILED)
        assert "Redis has lost its data" in status.report.summary
        assert task_id in (await client.http.get("/tasks")).text
        await eventually(lambda: standstill.asked > 2)
        assert motion["nav2"].fence > fence, "the grants of before are void"
        seen = await row(client)
        assert (seen["state"], seen["why"][:24]) == ("uncertain", "Redis has lost its data;")
        lost = (await client.http.get("/metrics")).text
        assert "quartet_bus_store_lost_total 0.0" not in lost
        model.say(do.approach(), do.report(True))
        waits = await client.submit("go to the kitchen")
        assert (await client.status(waits)).state is State.QUEUED
        standstill.rests = True

        async def is_idle():
            return (await row(client))["state"] != "uncertain"

        await eventually(is_idle)
        assert (await bus.skills(Skill.APPROACH).take(60)).request.task_id == waits
