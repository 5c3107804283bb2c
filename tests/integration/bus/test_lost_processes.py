"""kill -9 of a consumer, and of Redis itself."""

import asyncio

import pytest

from quartet_bus import Bus, BusOptions, BusUnavailableError
from quartet_contracts import Skill, State, TaskStatus


async def test_without_redis_the_error_names_url_and_remedy():
    with pytest.raises(
        BusUnavailableError, match=r"Redis at redis://127\.0\.0\.1:9/0 does not answer: .*QUARTET_REDIS_URL"
    ):
        await Bus.connect("redis://127.0.0.1:9/0")


async def test_a_password_is_not_shown():
    with pytest.raises(BusUnavailableError) as caught:
        await Bus.connect("redis://robot:secret@127.0.0.1:9/0")
    assert "secret" not in str(caught.value)


async def test_a_url_that_is_none_is_refused():
    with pytest.raises(Exception, match=r"cannot be used.*redis://127"):
        await Bus.connect("http://127.0.0.1:9")


async def test_everything_goes_on_after_a_restart_of_redis(
    own_redis, a_request, a_result, a_task, bus_options, eventually
):
    async with (
        await Bus.connect(own_redis.url, bus_options) as asking,
        await Bus.connect(own_redis.url, bus_options) as agent,
        asking.replies() as replies,
    ):
        source, target = asking.skills(Skill.PICK), agent.skills(Skill.PICK)
        request = a_request(reply_to=replies.stream(Skill.PICK))
        asked = asyncio.create_task(replies.ask(source, request))
        delivery = await target.take(60)
        await target.mark_started(delivery)
        waiting = asyncio.create_task(target.take(60))
        tasks = asyncio.create_task(asking.robot_tasks("summit").take())
        canceled = asyncio.create_task(target.canceled(request.request_id))
        await asyncio.sleep(0)

        own_redis.kill()
        pending = asyncio.create_task(agent.fences.next("summit"))
        await asyncio.sleep(0.3)
        own_redis.start()

        assert await pending >= 1
        assert not delivery.lost.is_set()
        await source.cancel(request.request_id)
        await canceled
        assert await target.finish(delivery, a_result(request))
        assert await asked == a_result(request)
        await source.submit(a_request("r2"))
        assert (await waiting).request.request_id == "r2"
        await asking.tasks.submit(a_task())
        assert (await tasks).task.task_id == "t1"


async def test_a_dead_store_is_told_after_the_patience(own_redis, a_task):
    options = BusOptions(command_patience_s=0.2)
    async with await Bus.connect(own_redis.url, options) as bus:
        status = await bus.tasks.submit(a_task())
        assert isinstance(status, TaskStatus)
        assert status.state is State.QUEUED
        own_redis.kill()
        with pytest.raises(BusUnavailableError, match="redis-server"):
            await bus.tasks.submit(a_task("t2"))
