"""Tasks that name no robot: the one that is free first takes the oldest."""

import asyncio

import pytest

from quartet_bus import Bus, BusOptions, QueueFullError
from quartet_contracts import ANY_ROBOT, State, encode
from support.store import KEYS, command


async def yes(_task) -> bool:
    return True


async def take(tasks, may_share=yes):
    async with asyncio.timeout(20):
        return await tasks.take(may_share)


async def test_a_free_robot_takes_it_and_its_status_names_the_robot(bus, a_task):
    await bus.tasks.submit(a_task("shared", robot=ANY_ROBOT))
    assert await bus.tasks.waiting_for_any() == 1
    delivery = await take(bus.robot_tasks("second"))
    assert (delivery.task.task_id, delivery.task.robot) == ("shared", "second")
    assert await bus.tasks.waiting_for_any() == 0
    status = await bus.statuses.get("shared")
    assert (status.task.robot, status.state) == ("second", State.QUEUED)
    assert await bus.robot_tasks("second").working_on() == delivery.task
    await bus.robot_tasks("second").finish(delivery)
    assert await bus.robot_tasks("second").working_on() is None


async def test_each_goes_to_one_robot(bus, other, a_task):
    for number in range(20):
        await bus.tasks.submit(a_task(f"t{number}", robot=ANY_ROBOT))
    done: list[tuple[str, str]] = []

    async def work(one, robot):
        tasks = one.robot_tasks(robot)
        while len(done) < 20:
            delivery = await tasks.take(yes)
            done.append((delivery.task.task_id, robot))
            await tasks.finish(delivery)

    # Two robots served by one replica, a third by another.
    work = [asyncio.create_task(work(*who)) for who in ((bus, "a"), (bus, "b"), (other, "c"))]
    async with asyncio.timeout(60):
        await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
    for task in work:
        task.cancel()
    await asyncio.gather(*work, return_exceptions=True)
    assert sorted(name for name, _ in done) == sorted(f"t{n}" for n in range(20))


async def test_the_oldest_comes_first_whichever_queue_it_is_in(bus, a_task):
    for number, robot in enumerate(("summit", ANY_ROBOT, "summit", ANY_ROBOT, "summit")):
        task = a_task(f"t{number}", robot=robot)
        await command(bus, "XADD", KEYS.task_stream(robot), f"{1000 + number}-0", "m", encode(task))
    tasks, order = bus.robot_tasks("summit"), []
    for _ in range(5):
        delivery = await take(tasks)
        order.append(delivery.task.task_id)
        await tasks.finish(delivery)
    assert order == ["t0", "t1", "t2", "t3", "t4"]


async def test_a_robot_that_cannot_work_leaves_it_to_another(bus, other, a_task):
    await bus.tasks.submit(a_task("shared", robot=ANY_ROBOT))
    asked = asyncio.Event()

    async def cannot(_task) -> bool:
        asked.set()
        return False

    waiting = asyncio.create_task(bus.robot_tasks("broken").take(cannot))
    async with asyncio.timeout(20):
        await asked.wait()
        delivery = await other.robot_tasks("sound").take(yes)
    assert delivery.task.robot == "sound"
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_without_being_asked_to_share_a_robot_takes_only_its_own(bus, a_task):
    await bus.tasks.submit(a_task("shared", robot=ANY_ROBOT))
    await bus.tasks.submit(a_task("own", robot="summit"))
    async with asyncio.timeout(20):
        delivery = await bus.robot_tasks("summit").take()
    assert delivery.task.task_id == "own"
    assert await bus.tasks.waiting_for_any() == 1


async def test_a_taken_one_outlives_the_replica_that_took_it(redis_url, a_task):
    options = BusOptions(lease_s=0.6, block_ms=100)
    async with await Bus.connect(redis_url, options) as first, await Bus.connect(redis_url, options) as second:
        await first.tasks.submit(a_task("shared", robot=ANY_ROBOT))
        delivery = await take(first.robot_tasks("summit"))
        await first.robot_tasks("summit").mark_started(delivery)
        await first.robot_tasks("summit").close()
        again = await take(second.robot_tasks("summit"))
        assert (again.task.task_id, again.redelivered, again.started) == ("shared", True, True)


async def test_what_cannot_be_read_is_buried_and_holds_up_nobody(bus, a_task):
    await command(bus, "XADD", KEYS.task_stream(ANY_ROBOT), "*", "m", b"{not json")
    await bus.tasks.submit(a_task("shared", robot=ANY_ROBOT))
    delivery = await take(bus.robot_tasks("summit"))
    assert delivery.task.task_id == "shared"
    (letter,) = await bus.dead_letters.list()
    assert "not JSON" in letter.reason


async def test_its_queue_has_a_cap_too(redis_url, a_task):
    async with await Bus.connect(redis_url, BusOptions(queue_entries=2)) as bus:
        for number in range(2):
            await bus.tasks.submit(a_task(f"t{number}", robot=ANY_ROBOT))
        with pytest.raises(QueueFullError, match="tasks:any"):
            await bus.tasks.submit(a_task("third", robot=ANY_ROBOT))


async def test_a_robot_takes_the_oldest_that_it_can_do(bus, other, a_task):
    for number in range(120):
        await bus.tasks.submit(a_task(f"wide{number}", robot=ANY_ROBOT))
    await bus.tasks.submit(a_task("narrow", robot=ANY_ROBOT))

    asked: list[str] = []

    async def narrow_only(task) -> bool:
        asked.append(task.task_id)
        return task.task_id == "narrow"

    delivery = await take(bus.robot_tasks("rover"), narrow_only)
    assert delivery.task.task_id == "narrow"
    assert asked == [*(f"wide{number}" for number in range(120)), "narrow"], "each is judged once"
    delivery = await take(other.robot_tasks("lifter"))
    assert delivery.task.task_id == "wide0"
    assert await bus.tasks.waiting_for_any() == 119
