"""Tasks, their records, and that Redis does not grow with them."""

import asyncio
import time

import pytest

from quartet_bus import (
    Bus,
    BusError,
    BusOptions,
    BusUnavailableError,
    Question,
    QuestionError,
    QueueFullError,
    StoreFullError,
    is_end,
)
from quartet_contracts import Answer, JournalEvent, PickArguments, Skill, State, TaskReport, TaskStatus
from quartet_contracts.journal import Note, StateChanged
from support.store import KEYS, command


def event(text="note", task_id="t1", **fields):
    happening = StateChanged(state=fields["state"]) if "state" in fields else Note(text=text)
    return JournalEvent(task_id=task_id, actor="orchestrator", at=time.time(), event=happening)


async def test_tasks_of_a_robot_come_in_order_to_one_replica(bus, other, a_task):
    for name in ("t1", "t2"):
        await bus.tasks.submit(a_task(name))
    mine, theirs = bus.robot_tasks("summit"), other.robot_tasks("summit")
    first = await mine.take()
    waiting = asyncio.create_task(theirs.take())
    second = await mine.take()
    assert [first.task.task_id, second.task.task_id] == ["t1", "t2"]
    assert not waiting.done()
    for delivery in (first, second):
        await mine.finish(delivery)
    await mine.close()
    await bus.tasks.submit(a_task("t3"))
    assert (await waiting).task.task_id == "t3"


async def test_other_robots_do_not_wait(bus, a_task):
    await bus.tasks.submit(a_task("t1"))
    await bus.tasks.submit(a_task("t2", robot="second"))
    one = await bus.robot_tasks("summit").take()
    two = await bus.robot_tasks("second").take()
    assert (one.task.task_id, two.task.task_id) == ("t1", "t2")


async def test_a_task_reaches_a_waiting_replica_at_once(redis_url, bus, a_task, eventually, monkeypatch):
    """By a signal, without waiting for the next poll."""
    waits = []

    async def without_a_poll(bell, timeout_s=0.0):
        waits.append(timeout_s)
        await bell._event.wait()
        bell._event.clear()

    monkeypatch.setattr("quartet_bus._notifications.Wakeup.wait", without_a_poll)
    async with await Bus.connect(redis_url, BusOptions(lease_s=600)) as other:
        taking = asyncio.create_task(other.robot_tasks("summit").take())
        await eventually(lambda: len(waits) == 2)  # the first wait ends when the subscription stands
        await bus.tasks.submit(a_task())
        assert (await taking).task.task_id == "t1"


async def test_a_final_state_is_never_changed(bus, a_task):
    status = await bus.tasks.submit(a_task())

    def in_state(state):
        return status.model_copy(update={"state": state})

    assert not await bus.statuses.put(in_state(State.CANCELED), expected=State.RUNNING)
    assert await bus.statuses.put(in_state(State.CANCELED), expected=State.QUEUED)
    assert not await bus.statuses.put(in_state(State.RUNNING))
    assert not await bus.statuses.put(in_state(State.FAILED))
    assert (await bus.statuses.get("t1")).state is State.CANCELED


async def test_the_list_is_newest_first_and_by_state(bus, a_task):
    for number in range(5):
        status = await bus.tasks.submit(a_task(f"t{number}", created_at=1000.0 + number))
        if number % 2:
            report = TaskReport(success=False, summary="no")
            await bus.statuses.put(status.model_copy(update={"state": State.FAILED, "report": report}))
    assert [s.task.task_id for s in await bus.statuses.list(limit=3)] == ["t4", "t3", "t2"]
    assert [s.task.task_id for s in await bus.statuses.list(State.FAILED)] == ["t3", "t1"]


async def test_a_cancel_is_seen_by_whoever_waits_and_keeps_its_first_reason(bus, other):
    waiting = asyncio.create_task(other.tasks.canceled("t1"))
    assert await bus.tasks.cancellation("t1") is None
    await bus.tasks.cancel("t1", "first")
    await bus.tasks.cancel("t1", "second")
    assert await waiting == "first"


async def test_a_journal_is_followed_to_its_end(bus, other):
    async def follow():
        return [e async for e in other.journal.follow("t1")]

    following = asyncio.create_task(follow())
    for number in range(5):
        await bus.journal.append(event(f"note {number}"))
        await bus.journal.append(event(task_id="t2"))
    last = await bus.journal.append(event(state=State.SUCCEEDED))
    events = await following
    assert [e.event.text for e in events[:-1]] == [f"note {n}" for n in range(5)]
    assert is_end(events[-1])
    assert events[-1].position == last
    assert [e async for e in bus.journal.follow("t1", after=events[3].position)] == events[4:]
    assert await bus.journal.read_all("t1") == events


async def test_images_and_transcripts(bus):
    reference = await bus.images.put("t1", b"\xff\xd8 jpeg\n", "image/jpeg")
    assert await bus.images.get("t1", reference) == (b"\xff\xd8 jpeg\n", "image/jpeg")
    assert await bus.images.get("t2", reference) is None
    with pytest.raises(BusError, match="over the cap"):
        await bus.images.put("t1", b"x" * 5_000_000, "image/png")
    await bus.transcripts.save("t1", "orchestrator", {"messages": ["ü" * 100_000]})
    await bus.transcripts.save("t1", "orchestrator", {"messages": []})
    assert await bus.transcripts.get("t1", "orchestrator") == {"messages": []}
    assert await bus.transcripts.get("t1", "pick") is None
    assert await bus.transcripts.list("t1") == ["orchestrator"]


async def test_questions(bus, other):
    question = Question("q1", "Which one?", time.time() + 30)
    await bus.questions.put("t1", question, 30)
    waiting = asyncio.create_task(bus.questions.wait("t1", question, 30))
    assert await other.questions.current("t1") == question
    with pytest.raises(QuestionError, match="'q0' is not open; the open one is 'q1': Which one"):
        await other.questions.answer("t1", Answer(text="this", question_id="q0"))
    assert await other.questions.answer("t1", Answer(text="that")) == question
    assert await waiting == "that"
    with pytest.raises(QuestionError, match="asks nothing"):
        await other.questions.answer("t1", Answer(text="again"))
    await bus.questions.put("t1", question, 30)
    with pytest.raises(QuestionError, match="answered already"):
        await other.questions.answer("t1", Answer(text="again"))
    late = Question("q2", "Well?", time.time() + 0.1)
    await bus.questions.put("t1", late, 0.1)
    assert await bus.questions.wait("t1", late, 0.1) is None


async def test_fences_only_rise(bus, other):
    assert [await bus.fences.next("summit"), await other.fences.next("summit")] == [1, 2]
    assert await bus.fences.next("summit", at_least=40) == 40
    assert (await bus.fences.current("summit"), await bus.fences.current("other")) == (40, 0)


async def test_more_callers_than_connections_wait_for_each_other(redis_url):
    async with await Bus.connect(redis_url, BusOptions(connections=4)) as small:
        await asyncio.gather(*(small.journal.append(event(f"{n}")) for n in range(300)))
        assert len(await small.journal.read("t1")) == 300


async def run_one(bus, a_request, a_result, a_task, name):
    """A finished task with everything that a task leaves behind."""
    await bus.tasks.submit(a_task(name))
    tasks = bus.robot_tasks("summit")
    delivery = await tasks.take()
    await tasks.mark_started(delivery)
    await bus.journal.append(event("x" * 500, task_id=name))
    await bus.images.put(name, b"y" * 5000, "image/jpeg")
    await bus.transcripts.save(name, "orchestrator", {"messages": ["z" * 2000]})
    async with bus.replies() as replies:
        request = a_request(
            f"{name}-pick", reply_to=replies.stream(Skill.PICK), arguments=PickArguments(object_name="can")
        )
        queue = bus.skills(request.skill)
        asked = asyncio.create_task(replies.ask(queue, request))
        taken = await queue.take(60)
        await queue.mark_started(taken)
        await queue.cancel(request.request_id)
        await queue.finish(taken, a_result(request))
        await asked
    await bus.tasks.cancel(name)
    status = TaskStatus(task=delivery.task, state=State.CANCELED, updated_at=time.time())
    await bus.statuses.put(status)
    await tasks.finish(delivery)


async def test_redis_does_not_grow_with_finished_tasks(redis_url, a_request, a_result, a_task, eventually):
    options = BusOptions(lease_s=5, block_ms=100, records_s=1.5, images_s=1.5, results_s=1.5)

    def short(name):
        return a_task(name, deadline=time.time(), timeout_s=0.1)

    async with await Bus.connect(redis_url, options) as bus:

        async def keys():
            return {k.decode() for k in await command(bus, "KEYS", "*")}

        async def nothing_of_a_task_is_left():
            await bus.statuses.forget_expired(1000)
            return not any("task-" in key for key in await keys())

        def requests(name, **fields):
            return a_request(name, deadline=time.time() + 1.5, **fields)

        await run_one(bus, requests, a_result, short, "task-0")
        before = {key for key in await keys() if "task-" not in key}
        for number in range(1, 31):
            await run_one(bus, requests, a_result, short, f"task-{number}")
        await eventually(nothing_of_a_task_is_left)
        after = await keys()
        assert after <= before
        streams = [k for k in after if (await command(bus, "TYPE", k)) == b"stream"]
        assert {k: await command(bus, "XLEN", k) for k in streams} == dict.fromkeys(streams, 0)
        assert await command(bus, "ZCARD", KEYS.index) == 0


async def test_cancellation_is_never_swallowed(bus):
    """Cancels at every point of a call; on Python 3.11 asyncio.wait_for inside a client would lose some."""

    async def forever():
        while True:
            await bus.journal.append(event())

    for delay in range(40):
        task = asyncio.create_task(forever())
        for _ in range(delay):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task}, timeout=60)
        assert task.cancelled()


async def test_a_full_queue_refuses_and_keeps_what_waits(redis_url, a_task, a_request):
    async with await Bus.connect(redis_url, BusOptions(queue_entries=2)) as small:
        queue = small.skills(a_request().skill)
        for number in range(2):
            await small.tasks.submit(a_task(f"t{number}"))
            await queue.submit(a_request(f"r{number}"))
        with pytest.raises(QueueFullError, match="2 entries wait on quartet:tasks:summit already"):
            await small.tasks.submit(a_task("t2"))
        with pytest.raises(QueueFullError, match="quartet:skill:pick"):
            await queue.submit(a_request("r2"))
        assert await small.statuses.get("t2") is None
        assert (await small.robot_tasks("summit").take()).task.task_id == "t0"


async def test_a_store_without_memory_says_so(own_redis, a_task, a_request):
    async with await Bus.connect(own_redis.url) as bus:
        await bus.tasks.submit(a_task())
        queue, request = bus.skills(Skill.PICK), a_request()
        entry_id = await queue.submit(request)
        await command(bus, "CONFIG", "SET", "maxmemory", "1mb")
        with pytest.raises(BusUnavailableError, match=r"takes no writes: .*maxmemory"):
            await bus.tasks.pause("t1", "a test")
        with pytest.raises(StoreFullError, match=r"Redis uses .* of its 1\.0 MB; the rest is reserved for running"):
            await bus.tasks.submit(a_task("t2"))
        assert await queue.withdraw(entry_id, request, "a task whose request nobody takes ends all the same")
        await command(bus, "CONFIG", "SET", "maxmemory", "0")
        await bus.tasks.submit(a_task("t2"))


async def test_what_a_full_store_cannot_admit_is_no_poison(own_redis, a_request, eventually, monkeypatch):
    """It is tried again and again, and is there when there is room."""
    again = []
    async with await Bus.connect(own_redis.url, BusOptions(lease_s=0.1, block_ms=20, delivery_cap=2)) as bus:
        queue = bus.skills(Skill.PICK)
        reclaim = queue._reclaim

        async def counted():
            entry = await reclaim()
            again.extend([entry] if entry else [])
            return entry

        monkeypatch.setattr(queue, "_reclaim", counted)
        monkeypatch.setattr(queue._backoff, "failed", lambda _: asyncio.sleep(0.01))
        await queue.submit(a_request())
        await command(bus, "CONFIG", "SET", "maxmemory", "1mb")
        taking = asyncio.create_task(queue.take())
        await eventually(lambda: len(again) > 2)
        await command(bus, "CONFIG", "SET", "maxmemory", "0")
        async with asyncio.timeout(60):
            delivery = await taking
        assert delivery.redelivered
        assert await bus.dead_letters.list() == []
