"""kill -9 of a consumer, and of Redis itself."""

import asyncio
import signal
import subprocess
import sys
import textwrap

import pytest

from quartet_bus import Bus, BusOptions, BusUnavailable
from quartet_contracts import Skill, State, TaskStatus

CONSUMER = textwrap.dedent(
    """
    import asyncio, sys
    from quartet_bus import Bus, BusOptions
    from quartet_contracts import Skill

    async def main(url, start):
        async with await Bus.connect(url, BusOptions(lease_s=0.6, block_ms=200)) as bus:
            queue = bus.skills(Skill.PICK)
            delivery = await queue.take(20)
            if start == "start":
                await queue.mark_started(delivery)
            print("took", delivery.request.request_id, flush=True)
            await asyncio.Event().wait()

    asyncio.run(main(*sys.argv[1:]))
    """
)


@pytest.mark.parametrize("started", [True, False])
async def test_a_killed_consumer_keeps_its_lease_until_then_and_loses_it_afterwards(
    bus, redis_url, a_request, a_result, started, bus_options
):
    queue = bus.skills(Skill.PICK)
    await queue.submit(a_request())
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CONSUMER, redis_url, "start" if started else "take", stdout=subprocess.PIPE
    )
    assert await asyncio.wait_for(process.stdout.readline(), 30) == b"took r1\n"
    assert await queue.take(2.5 * bus_options.lease_s) is None
    process.send_signal(signal.SIGKILL)
    await process.wait()
    delivery = await queue.take(10)
    assert (delivery.redelivered, delivery.started) == (True, started)
    await queue.finish(delivery, a_result(delivery.request))
    assert await queue.take(0) is None


async def test_without_redis_the_error_names_url_and_remedy():
    with pytest.raises(BusUnavailable, match=r"Redis at redis://127\.0\.0\.1:9/0 does not answer: .*QUARTET_REDIS_URL"):
        await Bus.connect("redis://127.0.0.1:9/0")


async def test_a_password_is_not_shown():
    with pytest.raises(BusUnavailable) as caught:
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
        request = a_request(reply_to=replies.stream)
        asked = asyncio.create_task(replies.ask(source, request))
        delivery = await target.take(5)
        await target.mark_started(delivery)
        waiting = asyncio.create_task(target.take(30))
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
        await asyncio.wait_for(canceled, 10)
        assert await target.finish(delivery, a_result(request))
        assert await asyncio.wait_for(asked, 10) == a_result(request)
        await source.submit(a_request("r2"))
        assert (await waiting).request.request_id == "r2"
        await asking.tasks.submit(a_task())
        assert (await asyncio.wait_for(tasks, 10)).task.task_id == "t1"


async def test_a_store_that_lost_its_data_stops_nobody(own_redis, a_request, a_result, bus_options):
    """A flush loses the entry; the agent that has it goes on, and the asker gets its answer."""
    async with (
        await Bus.connect(own_redis.url, bus_options) as asking,
        await Bus.connect(own_redis.url, bus_options) as agent,
        asking.replies() as replies,
    ):
        request = a_request(reply_to=replies.stream)
        asked = asyncio.create_task(replies.ask(asking.skills(Skill.PICK), request))
        target = agent.skills(Skill.PICK)
        delivery = await target.take(5)
        own_redis.flush()
        assert await target.take(1.5 * bus_options.lease_s) is None
        assert not delivery.lost.is_set()
        assert await target.finish(delivery, a_result(request))
        assert await asyncio.wait_for(asked, 10) == a_result(request)
        await asking.skills(Skill.PICK).submit(a_request("r2"))
        assert (await target.take(5)).request.request_id == "r2"


async def test_a_dead_store_is_told_after_the_patience(own_redis, a_task):
    options = BusOptions(command_patience_s=0.2)
    async with await Bus.connect(own_redis.url, options) as bus:
        status = await bus.tasks.submit(a_task())
        assert isinstance(status, TaskStatus)
        assert status.state is State.QUEUED
        own_redis.kill()
        with pytest.raises(BusUnavailable, match="redis-server"):
            await bus.tasks.submit(a_task("t2"))
