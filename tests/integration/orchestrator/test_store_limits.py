"""A Redis that is away or full: new work is refused, running work goes on when it can, nothing is lost."""

import asyncio

import pytest

from quartet_bus import Bus, BusOptions, BusUnavailableError
from quartet_contracts import Skill, State
from quartet_contracts.skills import unknown_result
from support.store import command


@pytest.fixture
async def agent(own_redis):
    """The approach agent's side of the bus."""
    async with await Bus.connect(own_redis.url, BusOptions(block_ms=200)) as bus:
        yield bus


async def drive(agent, world):
    """Does one approach; the result is stored as soon as the store takes it."""
    from quartet_contracts import ApproachResult

    queue = agent.skills(Skill.APPROACH)
    delivery = await queue.take()
    await queue.mark_started(delivery)
    request = delivery.request
    result = ApproachResult(
        request_id=request.request_id, task_id=request.task_id, success=True, error_code="NONE", reason="there"
    )
    world.do(Skill.APPROACH, request.arguments)
    await queue.finish(delivery, result)


async def test_a_redis_that_is_away_for_long_costs_time_and_nothing_else(
    start, own_redis, agent, world, model, do, caplog, eventually
):
    """It dies while the model thinks; what the model said could not be written, so it did not count."""

    dead = asyncio.Event()

    async def as_the_store_dies():
        own_redis.kill()
        dead.set()
        return do.approach()

    model.say(lambda _: as_the_store_dies(), do.approach(), do.report(True))
    async with start(redis_url=own_redis.url) as client:
        task_id = await client.submit("go to the kitchen")
        await dead.wait()
        refused = await client.http.post("/tasks", json={"sentence": "and then to the hall"}, timeout=60)
        assert refused.status_code == 503
        assert refused.json()["title"] == "Store not available"
        assert "QUARTET_REDIS_URL" in refused.json()["detail"]
        await eventually(lambda: any(f"task {task_id}: Redis" in line for line in caplog.messages))
        metrics = (await client.http.get("/metrics", timeout=60)).text
        assert "quartet_bus_up 0.0" in metrics
        assert "quartet_queue_waiting{" not in metrics, "what Redis would have told is not made up"
        own_redis.start()
        await drive(agent, world)
        events = await client.events(task_id)
        status = await client.status(task_id)
    assert status.state is State.SUCCEEDED, status.report
    assert [e.event.kind for e in events].count("skill_requested") == 1
    assert [e.event.kind for e in events].count("taken_over") == 1


async def test_a_redis_that_is_full_refuses_new_work_and_lets_running_work_wait(
    start, own_redis, agent, world, model, do, caplog, eventually
):
    async with start(redis_url=own_redis.url) as client:

        async def as_it_fills():
            await command(agent, "CONFIG", "SET", "maxmemory", "1mb")
            return do.approach()

        model.say(lambda _: as_it_fills(), do.approach(), do.report(True))
        task_id = await client.submit("go to the kitchen")
        await eventually(lambda: any(f"task {task_id}: Redis" in line for line in caplog.messages))
        refused = await client.http.post("/tasks", json={"sentence": "and then to the hall"})
        assert refused.status_code == 503
        assert refused.json()["title"] == "Store full"
        assert "the rest is reserved for running tasks" in refused.json()["detail"]
        assert (await client.status(task_id)).state is State.RUNNING, "it is read all the same"
        await command(agent, "CONFIG", "SET", "maxmemory", "0")
        await drive(agent, world)
        status = await client.until_state(task_id, State.SUCCEEDED, State.FAILED)
        listed = (await client.http.get("/tasks")).json()["tasks"]
    assert status.state is State.SUCCEEDED, status.report
    assert len(listed) == 1


async def test_a_task_is_canceled_also_while_redis_is_full(start, own_redis, agent, model, do):
    """The wish reaches the agent, its result the orchestrator, and the end status and journal."""
    queue = agent.skills(Skill.APPROACH)
    model.say(do.approach(), do.report(True))
    async with start(redis_url=own_redis.url) as client:
        task_id = await client.submit("go to the kitchen")
        delivery = await queue.take()
        await queue.mark_started(delivery)
        request, told = delivery.request, asyncio.create_task(queue.canceled(delivery.request.request_id))
        await command(agent, "CONFIG", "SET", "maxmemory", "1mb")
        with pytest.raises(BusUnavailableError, match="takes no writes"):
            await agent.tasks.pause(task_id, "a test")
        answer = await client.http.post(f"/tasks/{task_id}/cancel", json={"reason": "no longer wanted"})
        assert answer.status_code == 202
        async with asyncio.timeout(30):
            await told
        await queue.finish(delivery, unknown_result(request, "the robot was brought to rest", State.CANCELED))
        status = await client.until_state(task_id, State.CANCELED, State.FAILED, State.SUCCEEDED)
        events = await client.events(task_id)
        memory = await command(agent, "INFO", "memory")
        assert memory["used_memory"] > memory["maxmemory"] > 0
        await command(agent, "CONFIG", "SET", "maxmemory", "0")
    assert status.state is State.CANCELED, status.report
    assert "no longer wanted" in status.report.summary
    assert [e.event.state for e in events if e.event.kind == "state"][-2:] == [State.CANCELING, State.CANCELED]


async def test_a_redis_that_hangs_for_a_while_is_waited_for(start, own_redis, agent, world, model, do):
    """CLIENT PAUSE holds every command back, as a slow disk does."""
    model.say(do.approach(), do.report(True))
    async with start(redis_url=own_redis.url) as client:
        task_id = await client.submit("go to the kitchen")
        driving = asyncio.create_task(drive(agent, world))
        await command(agent, "CLIENT", "PAUSE", 2500, "ALL")
        await driving
        status = await client.until_state(task_id, State.SUCCEEDED, State.FAILED)
    assert status.state is State.SUCCEEDED, status.report
