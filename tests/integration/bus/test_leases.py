"""Leases: kept while their consumer lives, taken over when it is gone, whatever it was doing."""

import asyncio
import signal
import subprocess
import sys
import textwrap

import pytest

from quartet_bus import Bus, BusOptions, LeaseLostError
from quartet_bus.functions.queues import Finish, RenewLease
from quartet_contracts import Skill, State
from support.store import KEYS, command

LONG = BusOptions(lease_s=2.0, block_ms=200)
"""Where a consumer must keep its lease: a busy machine may leave it without the CPU for more than a second."""


@pytest.fixture
def bus_options():
    """Where only the other consumer lives, so that nobody can lose a lease by being slow."""
    return BusOptions(lease_s=0.3, block_ms=100)


CONSUMER = textwrap.dedent(
    """
    import asyncio, sys
    from quartet_bus import Bus, BusOptions
    from quartet_contracts import Skill

    async def main(url, lease_s):
        async with await Bus.connect(url, BusOptions(lease_s=float(lease_s), block_ms=200)) as bus:
            queue = bus.skills(Skill.PICK)
            await queue.mark_started(await queue.take())
            await queue.take()
            print("took both", flush=True)
            await asyncio.Event().wait()

    asyncio.run(main(*sys.argv[1:]))
    """
)


async def test_leases_are_kept_while_their_consumers_live_and_lost_when_these_are_killed(
    redis_url, a_request, a_result
):
    async with await Bus.connect(redis_url, LONG) as bus, await Bus.connect(redis_url, LONG) as other:
        mine, theirs = bus.skills(Skill.PICK), other.skills(Skill.PICK)
        await mine.submit(a_request("r0"))
        kept = await theirs.take(60)
        for name in ("r1", "r2"):
            await mine.submit(a_request(name))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CONSUMER, redis_url, str(LONG.lease_s), stdout=subprocess.PIPE
        )
        assert await process.stdout.readline() == b"took both\n"
        assert await mine.take(1.5 * LONG.lease_s) is None
        process.send_signal(signal.SIGKILL)
        await process.wait()
        for name, started in (("r1", True), ("r2", False)):
            delivery = await mine.take(60)
            assert (delivery.request.request_id, delivery.redelivered, delivery.started) == (name, True, started)
            await mine.finish(delivery, a_result(delivery.request))
        assert await mine.take(0) is None
        assert not kept.lost.is_set()
        assert await theirs.finish(kept, a_result(kept.request))


@pytest.mark.parametrize("started", [False, True])
async def test_an_entry_of_a_dead_consumer_is_reclaimed_and_says_whether_it_had_started(
    bus, other, a_request, a_result, started
):
    await bus.skills(Skill.PICK).submit(a_request())
    dying = other.skills(Skill.PICK)
    first = await dying.take(60)
    if started:
        await dying.mark_started(first)
    await dying.close()
    second = await bus.skills(Skill.PICK).take(60)
    assert (second.redelivered, second.started) == (True, started)
    await bus.skills(Skill.PICK).finish(second, a_result(second.request))
    assert await command(bus, "XLEN", KEYS.skill_stream(Skill.PICK)) == 0


async def test_a_consumer_that_lost_its_lease_cannot_start_and_its_answer_is_dropped(bus, other, a_request, a_result):
    await bus.skills(Skill.PICK).submit(a_request())
    stalled = other.skills(Skill.PICK)
    first = await stalled.take(60)
    await stalled.close()
    second = await bus.skills(Skill.PICK).take(60)
    with pytest.raises(LeaseLostError, match="taken over"):
        await stalled.mark_started(first)
    await bus.skills(Skill.PICK).mark_started(second)
    assert await bus.skills(Skill.PICK).finish(second, a_result(second.request, reason="the second"))
    assert not await stalled.finish(first, a_result(first.request, reason="the first"))
    assert (await bus.skills(Skill.PICK).result("r1")).reason == "the second"


async def test_a_stalled_consumer_that_wakes_up_learns_that_it_lost(bus, other, a_request, eventually):
    await bus.skills(Skill.PICK).submit(a_request())
    stalled = other.skills(Skill.PICK)
    first = await stalled.take(60)
    renewer, stalled._renewer = stalled._renewer, None
    renewer.cancel()
    assert (await bus.skills(Skill.PICK).take(60)).redelivered
    stalled._add_lease(first.lease)
    await eventually(first.lost.is_set)


async def test_a_task_that_is_given_back_is_delivered_again_and_buried_in_the_end(bus, a_task, bus_options, eventually):
    await bus.tasks.submit(a_task())
    tasks = bus.robot_tasks("summit")
    for turn in range(bus_options.delivery_cap):
        delivery = await tasks.take()
        assert (delivery.task.task_id, delivery.redelivered) == ("t1", turn > 0)
        tasks.release(delivery)
    taking = asyncio.create_task(tasks.take())
    await eventually(bus.dead_letters.list)
    taking.cancel()
    assert (await bus.statuses.get("t1")).state is State.FAILED
    assert "without an answer" in (await bus.statuses.get("t1")).report.summary


async def test_a_status_that_cannot_be_read_does_not_keep_a_task_alive(bus, a_task, bus_options, eventually):
    await bus.tasks.submit(a_task())
    await command(bus, "HSET", KEYS.status("t1"), "m", "{")
    tasks = bus.robot_tasks("summit")
    for _ in range(bus_options.delivery_cap):
        tasks.release(await tasks.take())
    taking = asyncio.create_task(tasks.take())
    await eventually(bus.dead_letters.list)
    assert (await bus.statuses.get("t1")).state is State.FAILED
    assert not taking.done()
    taking.cancel()


@pytest.mark.parametrize("started", [True, False])
async def test_a_task_of_a_dead_replica_is_reclaimed(bus, other, a_task, started):
    await bus.tasks.submit(a_task())
    dying = other.robot_tasks("summit")
    delivery = await dying.take()
    if started:
        await dying.mark_started(delivery)
    await dying.close()
    again = await bus.robot_tasks("summit").take()
    assert (again.redelivered, again.started) == (True, started)


async def test_a_task_that_kills_every_replica_is_failed(redis_url, a_task):
    options = BusOptions(lease_s=0.2, block_ms=50, delivery_cap=2)
    async with await Bus.connect(redis_url, options) as watching:
        await watching.tasks.submit(a_task())
        status = await watching.statuses.get("t1")
        while status.state is State.QUEUED:
            async with await Bus.connect(redis_url, options) as dying:
                taking = asyncio.create_task(dying.robot_tasks("summit").take())
                await asyncio.wait({taking}, timeout=1)
                taking.cancel()
                await asyncio.gather(taking, return_exceptions=True)
            status = await watching.statuses.get("t1")
        assert status.state is State.FAILED
        assert "delivered 3 times" in status.report.summary


async def test_a_store_that_lost_its_data_ends_the_work_and_the_asker_is_answered(
    own_redis, a_request, a_result, bus_options, eventually
):
    """A flush loses the entry: nobody could cancel or take over what its consumer does."""
    async with (
        await Bus.connect(own_redis.url, bus_options) as asking,
        await Bus.connect(own_redis.url, bus_options) as agent,
        asking.replies() as replies,
    ):
        request = a_request(reply_to=replies.stream(Skill.PICK))
        asked = asyncio.create_task(replies.ask(asking.skills(Skill.PICK), request))
        target = agent.skills(Skill.PICK)
        delivery = await target.take(60)
        own_redis.flush()
        await asyncio.wait_for(delivery.lost.wait(), 60)
        assert delivery.forgotten
        await eventually(lambda: agent.losses == 1)
        assert await target.finish(delivery, a_result(request))
        assert await asked == a_result(request)
        await asking.skills(Skill.PICK).submit(a_request("r2"))
        assert (await target.take(60)).request.request_id == "r2"


@pytest.mark.parametrize("durable", [True, False])
async def test_a_reconnect_tells_whether_redis_has_its_data(make_redis, a_request, durable, caplog):
    """Also where nobody has loaded the functions again that renew leases."""
    server = make_redis(durable=durable)
    options = BusOptions(lease_s=0.3, block_ms=100, command_patience_s=5)
    async with await Bus.connect(server.url, options) as bus:
        queue = bus.skills(Skill.PICK)
        await queue.submit(a_request())
        delivery = await queue.take(60)
        bus._store._loads_functions = False
        server.kill()
        server.start()
        await bus.check()
        assert bus.losses == (0 if durable else 1)
        assert ("Redis has lost its data" in caplog.text) is not durable
        if not durable:
            await asyncio.wait_for(delivery.lost.wait(), 60)
        assert delivery.forgotten is not durable


async def test_an_answer_that_was_lost_is_no_takeover(bus, a_request, a_result, monkeypatch):
    """The result is stored and its answer on the way, or lost, so that the same is sent once more."""
    queue, run, renewed = bus.skills(Skill.PICK), bus._store.run, asyncio.Event()
    await queue.submit(a_request())
    delivery = await queue.take(60)

    async def slow(function):
        answer = await run(function)
        if isinstance(function, Finish):
            renewed.clear()
            await asyncio.wait_for(renewed.wait(), 30)
            assert await run(function), "its own result stands, and no other consumer's"
        elif isinstance(function, RenewLease):
            renewed.set()
        return answer

    monkeypatch.setattr(bus._store, "run", slow)
    assert await queue.finish(delivery, a_result(delivery.request))
    monkeypatch.undo()
    assert not delivery.lost.is_set()
    assert await command(bus, "XLEN", delivery.request.reply_to) == 1
    assert not await queue.finish(delivery, a_result(delivery.request, reason="another one"))
