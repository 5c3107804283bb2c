"""One owner per task: what a former one writes is refused, and what it had goes to the next."""

import asyncio
import time

import pytest

from quartet_bus import Bus, BusOptions, KeyReusedError, LeaseLostError, NoAnswerError, StoreFullError
from quartet_contracts import TERMINAL, JournalEvent, Skill, State, TaskStatus, may_transition
from quartet_contracts.journal import Note
from support.store import KEYS, command


@pytest.fixture
async def other(redis_url):
    """Another replica, which takes over what is silent for a short while."""
    async with await Bus.connect(redis_url, BusOptions(lease_s=0.6, block_ms=200)) as opened:
        yield opened


def note(text="hello"):
    return JournalEvent(task_id="t1", actor="orchestrator", at=time.time(), event=Note(text=text))


async def let_robot_go(bus):
    await command(bus, "DEL", KEYS.robot_lease("summit"))


async def test_a_former_owner_writes_nothing_and_gets_no_newer_fence(bus, other, a_task):
    await bus.tasks.submit(a_task())
    mine = await bus.robot_tasks("summit").take()
    former = await bus.robot_tasks("summit").mark_started(mine)
    status = TaskStatus(task=a_task(), state=State.INITIALIZING, updated_at=time.time())
    await bus.journal.append(note(), lease_epoch=former)
    assert await bus.statuses.put(status, lease_epoch=former)
    assert await bus.fences.next("summit", lease_epoch=former) == 1
    # The process hangs: nothing renews its lease.
    await bus.robot_tasks("summit").close()
    await let_robot_go(bus)
    theirs = await other.robot_tasks("summit").take()
    assert (theirs.redelivered, theirs.started) == (True, True)
    present = await other.robot_tasks("summit").mark_started(theirs)
    assert (former.epoch, present.epoch) == (1, 2)
    for write in (
        bus.journal.append(note("late"), lease_epoch=former),
        bus.statuses.put(status.model_copy(update={"state": State.RUNNING}), lease_epoch=former),
        bus.fences.next("summit", lease_epoch=former),
        bus.robot_tasks("summit").mark_started(mine),
    ):
        with pytest.raises(LeaseLostError, match="t1"):
            await write
    assert [e.event.text for e in await bus.journal.read_all("t1")] == ["hello"]
    assert (await bus.statuses.get("t1")).state is State.INITIALIZING
    assert await other.fences.next("summit", lease_epoch=present) == 2
    await other.journal.append(note("mine"), lease_epoch=present)


@pytest.mark.parametrize("old", State)
async def test_the_store_refuses_every_move_that_does_not_exist(bus, a_task, old):
    for new in State:
        task = a_task(f"{old}-{new}")
        await command(bus, "HSET", KEYS.status(task.task_id), "state", str(old), "m", "{}")
        written = await bus.statuses.put(TaskStatus(task=task, state=new, updated_at=time.time()))
        assert written == (may_transition(old, new) and old not in TERMINAL), (old, new)


async def test_what_is_handed_over_need_not_wait_for_the_lease(redis_url, a_task):
    patient = BusOptions(lease_s=60, block_ms=200)
    async with await Bus.connect(redis_url, patient) as leaving, await Bus.connect(redis_url, patient) as next_one:
        await leaving.tasks.submit(a_task())
        delivery = await leaving.robot_tasks("summit").take()
        await leaving.robot_tasks("summit").mark_started(delivery)
        await leaving.robot_tasks("summit").hand_over(delivery)
        taken = await next_one.robot_tasks("summit").take()
        assert (taken.task.task_id, taken.started) == ("t1", True)


async def test_a_robot_works_for_one_task_though_its_lease_has_lapsed(redis_url, a_task):
    """As after a Redis that was away: who has the robot now waits until the running task is finished or given up."""
    patient = BusOptions(lease_s=60, block_ms=200)
    async with await Bus.connect(redis_url, patient) as bus, await Bus.connect(redis_url, patient) as other:
        await bus.tasks.submit(a_task("t1"))
        await bus.tasks.submit(a_task("t2"))
        delivery = await bus.robot_tasks("summit").take()
        await let_robot_go(bus)
        theirs = other.robot_tasks("summit")
        assert await theirs._lease_robot()
        assert await theirs._take_once() is None
        await bus.robot_tasks("summit").finish(delivery)
        assert (await theirs._take_once()).task.task_id == "t2"


async def test_progress_begins_the_count_of_deliveries_again(redis_url, a_task):
    options = BusOptions(lease_s=0.2, block_ms=50, delivery_cap=2)
    async with await Bus.connect(redis_url, options) as bus:
        await bus.tasks.submit(a_task())
        for number in range(5):
            mine = bus.tasks.of("summit", f"dying{number}")
            delivery = await mine.take()
            await mine.mark_started(delivery)
            await mine.progressed(delivery)
            await mine.close()
            await let_robot_go(bus)


async def test_a_request_that_nobody_took_is_withdrawn_by_who_rejoins_it(bus, a_request):
    queue = bus.skills(Skill.PICK)
    async with bus.replies() as replies:
        with pytest.raises(NoAnswerError) as caught:
            await replies.rejoin(queue, a_request())
        assert (caught.value.taken, caught.value.started) == (False, False)
        # Its asker wakes up again and submits it after all.
        await queue.submit(a_request(reply_to=replies.stream(Skill.PICK)))
        assert await queue.take(0) is None


async def test_a_result_is_found_by_who_rejoins(bus, other, a_request, a_result):
    request = a_request()
    await bus.skills(Skill.PICK).submit(request)
    delivery = await other.skills(Skill.PICK).take(60)
    await other.skills(Skill.PICK).mark_started(delivery)
    async with bus.replies() as replies:
        rejoined = asyncio.create_task(replies.rejoin(bus.skills(Skill.PICK), request))
        await other.skills(Skill.PICK).finish(delivery, a_result(request))
        assert await rejoined == a_result(request)
        assert await replies.rejoin(bus.skills(Skill.PICK), request) == a_result(request)


async def test_an_agent_that_is_gone_for_good_is_not_waited_for(other, redis_url, a_request):
    """It had begun, no other replica lives: the outcome is not known, and somebody has to look."""
    async with await Bus.connect(redis_url, BusOptions(lease_s=0.6, block_ms=200)) as dying:
        request = a_request()
        await dying.skills(Skill.PICK).submit(request)
        await dying.skills(Skill.PICK).mark_started(await dying.skills(Skill.PICK).take(60))
    async with other.replies() as replies:
        with pytest.raises(NoAnswerError, match="is gone, and no other one runs") as caught:
            await replies.rejoin(other.skills(Skill.PICK), request, absent_after_s=0.3)
    assert (caught.value.taken, caught.value.started) == (True, True)


async def test_a_submission_is_one_task_whoever_takes_it(bus, other, a_task):
    first = await bus.tasks.submit(a_task("t1", submission="k1"), "body")
    again = await other.tasks.submit(a_task("t2", submission="k1"), "body")
    assert again == first
    with pytest.raises(KeyReusedError, match="stands for task 't1'"):
        await other.tasks.submit(a_task("t3", submission="k1"), "another body")
    assert await bus.robot_tasks("summit").waiting() == 1
    assert [status.task.task_id for status in await bus.statuses.list()] == ["t1"]


async def test_tasks_whose_time_is_over_are_named_until_they_end(bus, a_task):
    now = time.time()
    await bus.tasks.submit(a_task("late", deadline=now - 1))
    await bus.tasks.submit(a_task("early"))
    assert await bus.tasks.overdue() == ["late"]
    ended = TaskStatus(task=a_task("late", deadline=now - 1), state=State.FAILED, updated_at=now)
    assert await bus.statuses.put(ended, expected=State.QUEUED)
    assert await bus.tasks.overdue() == []
    await bus.tasks.submit(a_task("gone", deadline=now - 1))
    await bus.tasks.remove_waiting("gone")
    assert await bus.tasks.overdue() == []


@pytest.mark.parametrize("off_s", [3600.0, -3600.0])
async def test_how_long_a_task_waits_is_told_by_redis_clock(bus, a_task, monkeypatch, off_s):
    """Whatever that of who submits."""
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + off_s)
    await bus.tasks.submit(a_task("early"))
    await bus.tasks.submit(a_task("late", deadline=time.time() - 1))
    monkeypatch.undo()
    assert await bus.tasks.overdue() == ["late"]
    assert [await bus.tasks.is_overdue(name) for name in ("late", "early", "none")] == [True, False, False]


async def test_a_store_that_is_nearly_full_keeps_the_rest_for_running_work(own_redis, a_task, bus_options):
    async with await Bus.connect(own_redis.url, bus_options) as bus:
        await bus.tasks.submit(a_task())
        delivery = await bus.robot_tasks("summit").take()
        lease_epoch = await bus.robot_tasks("summit").mark_started(delivery)
        used = int((await command(bus, "INFO", "memory"))["used_memory"])
        await command(bus, "CONFIG", "SET", "maxmemory", round(used * 1.08))
        with pytest.raises(StoreFullError, match="the rest is reserved for running tasks"):
            await bus.tasks.submit(a_task("t2"))
        await bus.journal.append(note(), lease_epoch=lease_epoch)
        await bus.robot_tasks("summit").finish(delivery)
        await command(bus, "CONFIG", "SET", "maxmemory", "0")
        await bus.tasks.submit(a_task("t2"))


async def test_a_full_store_takes_no_lease_from_its_holder(own_redis, a_task, eventually):
    """Redis refuses what needs memory; leases are renewed all the same: running work stays with who does it."""
    async with await Bus.connect(own_redis.url, BusOptions(lease_s=1.5, block_ms=200)) as bus:
        await bus.tasks.submit(a_task())
        delivery = await bus.robot_tasks("summit").take()
        await command(bus, "CONFIG", "SET", "maxmemory", "1mb")
        assert await bus.robot_tasks("summit")._lease_robot(), "the robot's lease"
        stream, looks = KEYS.task_stream("summit"), []

        async def renewed():
            """Whether the entry's idle time went down since the last look."""
            rows = await command(bus, "XINFO CONSUMERS", stream, "orchestrator")
            looks.append(next(int(row["idle"]) for row in rows))
            return len(looks) > 1 and looks[-1] < looks[-2]

        await eventually(renewed)
        assert not delivery.lost.is_set()
