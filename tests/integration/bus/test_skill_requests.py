"""A request reaches one replica and its answer reaches whoever asked, whatever dies in between."""

import asyncio
import time

import pytest

from quartet_bus import Bus, BusOptions, NoAnswerError
from quartet_bus.functions.queues import RESULT_BYTES
from quartet_contracts import Budget, PlaceResult, Skill, State, encode
from support.store import KEYS, command


async def entries(bus, skill=Skill.PICK):
    return await command(bus, "XLEN", KEYS.skill_stream(skill))


async def test_request_and_answer(bus, other, a_request, a_result, eventually):
    async def nothing_left():
        return await command(bus, "XLEN", replies.stream(Skill.PICK)) == 0

    queue = other.skills(Skill.PICK)
    async with bus.replies() as replies:
        request = a_request(reply_to=replies.stream(Skill.PICK))
        asked = asyncio.create_task(replies.ask(bus.skills(Skill.PICK), request))
        delivery = await queue.take(60)
        assert (delivery.request, delivery.redelivered, delivery.started) == (request, False, False)
        assert await queue.finish(delivery, a_result(request))
        assert await asked == a_result(request)
        await eventually(nothing_left)
    assert await entries(bus) == 0
    assert await bus.skills(Skill.PICK).result("r1") == a_result(request)


async def test_a_request_that_was_there_before_the_first_agent_is_not_lost(bus, other, a_request):
    await bus.skills(Skill.PICK).submit(a_request())
    delivery = await other.skills(Skill.PICK).take(60)
    assert delivery.request.request_id == "r1"


async def test_answers_find_their_askers_in_any_order(bus, other, a_request, a_result):
    async with bus.replies() as replies:
        requests = [a_request(f"r{i}", reply_to=replies.stream(Skill.PICK)) for i in range(20)]
        asked = [asyncio.create_task(replies.ask(bus.skills(Skill.PICK), r)) for r in requests]
        queue = other.skills(Skill.PICK)
        taken = [await queue.take(60) for _ in requests]
        for delivery in reversed(taken):
            await queue.finish(delivery, a_result(delivery.request))
        results = await asyncio.gather(*asked)
    assert [r.request_id for r in results] == [r.request_id for r in requests]


async def test_take_gives_up_after_its_timeout(bus):
    started = time.monotonic()
    async with asyncio.timeout(20):
        assert await bus.skills(Skill.PICK).take(0.3) is None
    assert time.monotonic() - started > 0.25
    assert await bus.skills(Skill.PICK).take(0) is None


async def test_a_duplicate_in_flight_is_not_run_and_a_late_one_is_answered_from_the_record(
    bus, other, a_request, a_result
):
    queue = bus.skills(Skill.PICK)
    async with other.replies() as replies:
        request = a_request(reply_to=replies.stream(Skill.PICK))
        await queue.submit(request)
        delivery = await queue.take(60)
        await queue.submit(request)
        assert await queue.take(0.5) is None
        assert await entries(bus) == 1
        await queue.finish(delivery, a_result(request))
        again = asyncio.create_task(replies.ask(other.skills(Skill.PICK), request))
        while not again.done():
            assert await queue.take(0.1) is None
        assert await again == a_result(request)
    assert await entries(bus) == 0


async def test_a_request_ages_while_the_machine_is_suspended(bus, a_request, monkeypatch):
    queue = bus.skills(Skill.PICK)
    await queue.submit(a_request())
    delivery = await queue.take(60)
    boot_time = time.clock_gettime
    monkeypatch.setattr(time, "clock_gettime", lambda which: boot_time(which) + 3600.0)
    assert delivery.age_s >= 3600.0


async def test_a_clock_that_is_set_ahead_ends_no_wait_for_a_result(bus, other, a_request, a_result, monkeypatch):
    looked = asyncio.Queue()
    queue, clock, look_up = other.skills(Skill.PICK), time.time, bus.skills(Skill.PICK).progress

    async def progress(request_id):
        found = await look_up(request_id)
        looked.put_nowait(time.time())
        return found

    async def looked_again():
        while await looked.get() < clock() + 1800.0:
            pass
        # One more: the clock may have been set within the first.
        await looked.get()

    monkeypatch.setattr("quartet_bus._replies.MAX_POLL_S", 0.05)
    monkeypatch.setattr(bus.skills(Skill.PICK), "progress", progress)
    async with bus.replies() as replies:
        request = a_request(reply_to=replies.stream(Skill.PICK))
        asking = asyncio.create_task(replies.ask(bus.skills(Skill.PICK), request))
        delivery = await queue.take(60)
        monkeypatch.setattr(time, "time", lambda: clock() + 3600.0)
        await asyncio.wait({asking, asyncio.create_task(looked_again())}, return_when=asyncio.FIRST_COMPLETED)
        assert not asking.done(), asking.exception()
        await queue.finish(delivery, a_result(request))
        assert (await asking).success


async def test_a_clock_that_is_set_back_prolongs_no_wait_for_a_result(bus, other, a_request, monkeypatch):
    queue, clock = other.skills(Skill.PICK), time.time
    async with bus.replies() as replies:
        request = a_request(reply_to=replies.stream(Skill.PICK), deadline=time.time() + 1)
        asking = asyncio.create_task(replies.ask(bus.skills(Skill.PICK), request, grace_s=0.1))
        await queue.take(60)
        monkeypatch.setattr(time, "time", lambda: clock() - 3600.0)
        async with asyncio.timeout(20):
            with pytest.raises(NoAnswerError, match="after its deadline"):
                await asking


async def test_cancel_reaches_whoever_runs_it(bus, other, a_request):
    await bus.skills(Skill.PICK).submit(a_request())
    delivery = await other.skills(Skill.PICK).take(60)
    waiting = asyncio.create_task(other.skills(Skill.PICK).canceled(delivery.request.request_id))
    await bus.skills(Skill.PICK).cancel("r1")
    await bus.skills(Skill.PICK).cancel("r1")
    await waiting
    await bus.skills(Skill.PICK).canceled("r1")


async def test_a_request_canceled_or_expired_before_its_start_is_answered_without_an_agent(bus, other, a_request):
    queue = other.skills(Skill.PICK)
    async with bus.replies() as replies:
        for name, fields in (("r1", {}), ("r2", {"deadline": time.time() - 2})):
            await bus.skills(Skill.PICK).submit(a_request(name, reply_to=replies.stream(Skill.PICK), **fields))
        await queue.cancel("r1")
        while await entries(bus):
            assert await queue.take(0) is None
    first, second = await queue.result("r1"), await queue.result("r2")
    assert (first.state, first.error_code) == (State.CANCELED, "UNKNOWN")
    assert second.state == State.FAILED
    assert "deadline had passed" in second.reason


@pytest.mark.parametrize("ahead_s", [3600, -3600])
async def test_the_clock_of_who_asks_may_differ_from_that_of_the_agent(bus, other, a_request, ahead_s):
    """What a request has left is told by the time since it was made, by no comparison of two wall clocks."""
    now = time.time() + ahead_s
    fresh = a_request("r1", created_at=now, deadline=now + 60)
    late = a_request("r2", created_at=now, deadline=now + 60, age_s=100.0)
    queue = other.skills(Skill.PICK)
    await bus.skills(Skill.PICK).submit(fresh)
    delivery = await queue.take(60)
    assert delivery is not None
    assert delivery.request == fresh
    assert 0 <= delivery.age_s < 30
    await bus.skills(Skill.PICK).submit(late)
    while (answer := await queue.result("r2")) is None:
        assert await queue.take(0) is None
    assert "its deadline had passed 4" in answer.reason


async def test_without_an_agent_the_asker_is_told_and_the_request_is_never_run(bus, other, a_request):
    async with bus.replies() as replies:
        request = a_request(reply_to=replies.stream(Skill.PICK))
        with pytest.raises(NoAnswerError, match="no pick agent is running; start one") as caught:
            await replies.ask(bus.skills(Skill.PICK), request, absent_after_s=0.3)
        assert (caught.value.taken, caught.value.started) == (False, False)
    assert await other.skills(Skill.PICK).take(0.5) is None


async def test_busy_agents_are_waited_for_until_the_deadline(bus, other, a_request):
    queue = other.skills(Skill.PICK)
    await bus.skills(Skill.PICK).submit(a_request("busy"))
    assert await queue.take(60)
    async with bus.replies() as replies:
        request = a_request(reply_to=replies.stream(Skill.PICK), deadline=time.time() + 1)
        with pytest.raises(NoAnswerError, match="no pick agent had time for it"):
            await replies.ask(bus.skills(Skill.PICK), request, absent_after_s=0.4)


async def test_an_agent_that_never_answers_leaves_an_unknown_outcome(bus, other, a_request):
    queue = other.skills(Skill.PICK)
    async with bus.replies() as replies:
        request = a_request(reply_to=replies.stream(Skill.PICK), deadline=time.time() + 2)
        asked = asyncio.create_task(replies.ask(bus.skills(Skill.PICK), request, grace_s=0.3))
        await queue.mark_started(await queue.take(60))
        with pytest.raises(NoAnswerError, match="gave no answer") as caught:
            await asked
    assert (caught.value.taken, caught.value.started) == (True, True)


async def test_an_answer_missed_on_the_stream_is_found_in_the_record(bus, other, a_request, a_result):
    queue = other.skills(Skill.PICK)
    async with bus.replies() as replies:
        request = a_request(reply_to="quartet:replies:pick:somebody-else")
        asked = asyncio.create_task(replies.ask(bus.skills(Skill.PICK), request))
        delivery = await queue.take(60)
        await queue.finish(delivery, a_result(request))
        assert await asked == a_result(request)


async def test_consumers_that_are_gone_are_forgotten(bus, redis_url, a_request, a_result, eventually):
    options = BusOptions(lease_s=0.6, block_ms=100, consumers_s=0.3)
    queue = bus.skills(Skill.PICK)
    for name in ("old-1", "old-2", "old-3"):
        async with await Bus.connect(redis_url, options, replica=name) as gone:
            await queue.submit(a_request(name))
            delivery = await gone.skills(Skill.PICK).take(60)
            await gone.skills(Skill.PICK).finish(delivery, a_result(delivery.request))

    async def known():
        rows = await command(bus, "XINFO CONSUMERS", KEYS.skill_stream("pick"), "pick")
        return {row["name"].decode() for row in rows}

    async def old_ones_are_gone():
        await present.skills(Skill.PICK).take(0)
        return not any(name.startswith("old") for name in await known())

    assert "old-3" in await known(), "nobody has looked since it was there"
    async with await Bus.connect(redis_url, options) as present:
        await eventually(old_ones_are_gone)


async def test_an_agent_that_waits_for_its_first_request_counts_as_alive(bus, other):
    assert await bus.skills(Skill.PICK).alive() == 0
    await other.skills(Skill.PICK).take(0.1)
    assert await bus.skills(Skill.PICK).alive() == 1
    assert await bus.skills(Skill.PLACE).alive() == 0


async def test_answers_that_were_read_do_not_pile_up(bus, a_request, a_result, eventually):
    async with bus.replies() as replies:

        async def answer(count):
            queue = bus.skills(Skill.PICK)
            for _ in range(count):
                delivery = await queue.take(60)
                await queue.finish(delivery, a_result(delivery.request))

        answering = asyncio.create_task(answer(60))
        queue = bus.skills(Skill.PICK)
        for number in range(60):
            await replies.ask(queue, a_request(f"r{number}", reply_to=replies.stream(Skill.PICK)))
            assert await command(bus, "XLEN", replies.stream(Skill.PICK)) <= 51
        await answering

        async def none_left():
            return await command(bus, "XLEN", replies.stream(Skill.PICK)) == 0

        await eventually(none_left)


async def test_a_result_comes_with_the_signal_and_waits_for_no_further_way_to_redis(
    bus, other, a_request, a_result, monkeypatch
):
    monkeypatch.setattr("quartet_bus._replies.MAX_POLL_S", 3600)
    monkeypatch.setattr("quartet_bus._replies.Replies._deliver", lambda *_: None)  # what lies on the stream
    async with bus.replies() as replies, asyncio.timeout(20):
        request = a_request(reply_to=replies.stream(Skill.PICK))
        asked = asyncio.create_task(replies.ask(bus.skills(Skill.PICK), request, absent_after_s=36_000))
        delivery = await other.skills(Skill.PICK).take(60)
        await other.skills(Skill.PICK).finish(delivery, a_result(request))
        assert await asked == a_result(request)


async def test_what_signals_carry_beside_results_is_passed_over(bus, other, a_request, a_result):
    async with bus.replies() as replies, asyncio.timeout(20):
        request = a_request(reply_to=replies.stream(Skill.PICK))
        asked = asyncio.create_task(replies.ask(bus.skills(Skill.PICK), request))
        delivery = await other.skills(Skill.PICK).take(60)
        placed = PlaceResult(request_id="r1", task_id="t1", success=True, error_code="NONE", reason="forged")
        large = encode(a_result(request, reason="forged")) + b" " * RESULT_BYTES
        for data in (b"\xff", b"[" * 10_000, b"{}", encode(placed), encode(a_result(a_request("r2"))), large):
            await command(other, "PUBLISH", KEYS.signal(replies.stream(Skill.PICK)), data)
        await other.skills(Skill.PICK).finish(delivery, a_result(request))
        assert (await asked).reason == "held"


async def test_only_answers_of_the_asked_skill_count(bus, other, a_request, a_result, caplog, eventually):
    """What another agent says in its name, on its own stream, is dropped; so is an answer of its own to the request."""
    async with bus.replies() as replies:
        request = a_request(reply_to=replies.stream(Skill.PICK))
        asked = asyncio.create_task(replies.ask(bus.skills(Skill.PICK), request))
        delivery = await other.skills(Skill.PICK).take(60)
        forged = a_result(request, reason="forged")
        placed = PlaceResult(request_id="r1", task_id="t1", success=True, error_code="NONE", reason="forged")
        for skill, result in ((Skill.PLACE, forged), (Skill.PLACE, placed), (Skill.PICK, placed)):
            await command(other, "XADD", replies.stream(skill), "*", "m", encode(result))
            await command(other, "PUBLISH", KEYS.signal(replies.stream(skill)), "")
        await other.skills(Skill.PICK).finish(delivery, a_result(request))
        assert (await asked).reason == "held"
        await eventually(lambda: caplog.text.count("unreadable reply of") == 2)


async def test_a_request_is_read_and_admitted_in_one_way_there_and_back(bus, other, a_request, a_result, monkeypatch):
    """Also beside one that is held, by a Redis that has forgotten its functions: then it costs a second one."""

    async def counted(*about):
        separately.append(about[1])
        return await ask(*about)

    separately, queue = [], other.skills(Skill.PICK)
    ask = queue._ask_admission
    monkeypatch.setattr(queue, "_ask_admission", counted)
    for number in range(3):
        await bus.skills(Skill.PICK).submit(a_request(f"r{number}"))
    held = [await queue.take(60) for _ in range(3)]
    assert [delivery.request.request_id for delivery in held] == ["r0", "r1", "r2"]
    assert separately == []
    for name in ("r3", "r4"):
        await bus.skills(Skill.PICK).submit(a_request(name))
        if name == "r3":
            await command(bus, "FUNCTION FLUSH")
        held.append(await queue.take(60))
    assert separately == ["r3"]
    for delivery in held:
        await queue.mark_started(delivery)
        assert await queue.finish(delivery, a_result(delivery.request))
        assert (await bus.skills(Skill.PICK).progress(delivery.request.request_id)).taken
    await bus.skills(Skill.PICK).submit(a_request("r0"))
    assert await queue.take(0.3) is None
    assert separately == ["r3"]


async def test_what_is_admitted_is_remembered_beyond_its_deadline(bus, other, a_request, bus_options):
    """A duplicate that comes late is known; one whose deadline lies far ahead is remembered as long."""
    for name, left_s in (("soon", 60), ("over", -5), ("far", 4e9)):
        await bus.skills(Skill.PICK).submit(a_request(name, deadline=time.time() + left_s))
        await other.skills(Skill.PICK).take(1.0)
        expiry_ms = await command(bus, "PTTL", KEYS.owner("skill:pick", name))
        least_ms = (max(0, left_s) + bus_options.results_s) * 1000
        assert least_ms - 30_000 < expiry_ms < least_ms + 2_000


async def test_commands_outlive_connections_that_redis_closes(bus, other, a_request):
    """On a link, in the pool, and in the middle of a blocking read."""
    queue, name = other.skills(Skill.PICK), bus.robot_tasks("summit")
    assert await bus.fences.next("summit") == 1
    taking = asyncio.create_task(queue.take(60))
    for number in range(3):
        await command(bus, "CLIENT", "KILL", "TYPE", "NORMAL", "SKIPME", "yes")
        assert await bus.fences.next("summit") == number + 2
        assert await name.waiting() == 0
    await bus.skills(Skill.PICK).submit(a_request())
    assert (await taking).request.request_id == "r1"


async def test_a_call_that_is_given_up_leaves_no_answer_to_the_next(bus):
    for number in range(30):
        call = asyncio.create_task(bus.fences.next("summit"))
        for _ in range(number % 5):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert await bus.fences.next(f"own-{number}", at_least=number + 1000) == number + 1000


async def test_a_call_that_outlives_its_bus_leaves_no_connection(bus, redis_url, eventually):
    async with await Bus.connect(redis_url) as going:
        await going.fences.next("summit")
        (link,) = going._store._free
        await command(bus, "CLIENT PAUSE", 60_000, "WRITE")
        call = asyncio.create_task(going.fences.next("summit"))
        await eventually(lambda: not going._store._free)
    await command(bus, "CLIENT UNPAUSE")
    assert await call == 2
    assert not link._connection.is_connected


@pytest.mark.parametrize("waited_s", [0.0, 30.0])
async def test_waiting_for_a_person_gives_a_request_more_time(bus, other, a_request, a_result, waited_s):
    """Up to its deadline; its budget says how long it may work."""
    async with bus.replies() as replies:
        request = a_request(reply_to=replies.stream(Skill.PICK), budget=Budget(wall_s=0.2))
        asking = asyncio.create_task(
            replies.ask(bus.skills(Skill.PICK), request, grace_s=0.2, waited_s=lambda: waited_s)
        )
        delivery = await other.skills(Skill.PICK).take(10)
        await other.skills(Skill.PICK).mark_started(delivery)
        done, _ = await asyncio.wait({asking}, timeout=1.5)
        assert bool(done) == (waited_s == 0.0)
        if done:
            with pytest.raises(NoAnswerError, match="gave no answer"):
                asking.result()
            return
        await other.skills(Skill.PICK).finish(delivery, a_result(request))
        assert (await asking).success
