"""An agent takes a request and marks it as started in one round trip to Redis."""

import asyncio
import time

import pytest

from quartet_bus import LeaseLostError
from quartet_bus._replies import MOST_LEFT
from quartet_bus.errors import StoreFullError
from quartet_contracts import Skill, encode
from support.store import KEYS, command

PICK = Skill.PICK


async def is_started(bus, request_id="r1"):
    return (await bus.skills(PICK).progress(request_id)).started


async def test_what_is_taken_is_started(bus, other, a_request, a_result, monkeypatch):
    queue = other.skills(PICK)
    await bus.skills(PICK).submit(a_request())
    delivery = await queue.take(60, begin=True)
    assert (delivery.started, delivery.begun) == (False, True)
    assert await is_started(bus)
    monkeypatch.setattr(queue._store, "run", None)
    await queue.mark_started(delivery)
    monkeypatch.undo()
    assert await queue.finish(delivery, a_result(delivery.request))


async def test_the_start_is_remembered_as_long_as_the_request(bus, other, a_request):
    await bus.skills(PICK).submit(a_request())
    await other.skills(PICK).take(60, begin=True)
    expiries = [await command(bus, "PTTL", of("skill:pick", "r1")) for of in (KEYS.owner, KEYS.started)]
    assert expiries[1] == pytest.approx(expiries[0], abs=1_000)


async def test_a_taker_that_does_not_say_so_starts_nothing(bus, other, a_request):
    queue = other.skills(PICK)
    await bus.skills(PICK).submit(a_request())
    delivery = await queue.take(60)
    assert not delivery.begun
    assert not await is_started(bus)
    await queue.mark_started(delivery)
    assert await is_started(bus)


async def test_a_begun_request_of_a_dead_replica_counts_as_started(bus, other, a_request):
    """It is not begun again: its outcome is observed."""
    dying = other.skills(PICK)
    await bus.skills(PICK).submit(a_request())
    await dying.take(60, begin=True)
    await dying.close()
    again = await bus.skills(PICK).take(60, begin=True)
    assert (again.redelivered, again.started, again.begun) == (True, True, False)


async def test_a_request_of_a_dead_replica_that_had_not_begun_it_is_started_by_itself(bus, other, a_request):
    dying = other.skills(PICK)
    await bus.skills(PICK).submit(a_request())
    await dying.take(60)
    await dying.close()
    queue = bus.skills(PICK)
    again = await queue.take(60, begin=True)
    assert (again.redelivered, again.started, again.begun) == (True, False, False)
    assert not await is_started(bus)
    await queue.mark_started(again)
    assert await is_started(bus)


async def test_what_was_canceled_before_is_not_begun(bus, other, a_request):
    await bus.skills(PICK).submit(a_request())
    await bus.skills(PICK).cancel("r1")
    assert await other.skills(PICK).take(0, begin=True) is None
    assert not await is_started(bus)
    assert (await bus.skills(PICK).result("r1")).state == "CANCELED"


async def test_what_was_withdrawn_before_is_not_begun(bus, other, a_request):
    """By an orchestrator that took over and does not know the entry, which is still on the stream."""
    await bus.skills(PICK).submit(a_request())
    assert await bus.skills(PICK).withdraw("", a_request(), "nobody waits for it")
    assert await other.skills(PICK).take(0, begin=True) is None
    assert not await is_started(bus)


async def test_what_is_too_late_is_not_begun(bus, other, a_request):
    await bus.skills(PICK).submit(a_request(deadline=time.time() - 1))
    assert await other.skills(PICK).take(0, begin=True) is None
    assert not await is_started(bus)
    assert "its deadline had passed" in (await bus.skills(PICK).result("r1")).reason


async def test_what_could_not_be_admitted_is_not_begun_by_later_reads_that_find_nothing(
    bus, other, a_request, eventually, monkeypatch
):
    """The store takes no writes for a moment. Who has the entry by then does not know that it could run it."""
    queue = other.skills(PICK)

    async def full(*_):
        await bus._store.load_functions()
        raise StoreFullError("no room")

    await queue.take(0)
    await bus.skills(PICK).submit(a_request())
    await command(bus, "FUNCTION FLUSH")
    monkeypatch.setattr(queue, "_ask_admission", full)
    reads = []
    then = queue._store.reader

    def reader():
        made = then()
        read = made.then

        async def noted(*given):
            reads.append(await read(*given))
            return reads[-1]

        made.then = noted
        return made

    monkeypatch.setattr(queue._store, "reader", reader)
    monkeypatch.setattr(queue, "_reader", None)
    taking = asyncio.create_task(queue.take(60, begin=True))
    # One that brings the entry, and two after it that find nothing, with the functions loaded again.
    await eventually(lambda: len(reads) >= 3)
    assert not await is_started(bus)
    monkeypatch.undo()
    again = await taking
    assert (again.request.request_id, again.started, again.begun) == ("r1", False, False)


async def test_a_duplicate_begins_nothing(bus, other, a_request, a_result):
    """Neither while the original runs nor after its result."""
    queue = other.skills(PICK)
    await bus.skills(PICK).submit(a_request())
    first = await queue.take(60)
    await bus.skills(PICK).submit(a_request())
    assert await queue.take(0, begin=True) is None
    assert not await is_started(bus)
    await queue.finish(first, a_result(first.request))
    await bus.skills(PICK).submit(a_request())
    assert await queue.take(0, begin=True) is None
    assert not await is_started(bus)


async def test_what_a_replica_lost_is_not_started_though_it_was_begun(bus, other, a_request):
    queue = other.skills(PICK)
    await bus.skills(PICK).submit(a_request())
    delivery = await queue.take(60, begin=True)
    delivery.lost.set()
    with pytest.raises(LeaseLostError, match="was taken over by another replica"):
        await queue.mark_started(delivery)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"i": "r1"},
        {"d": "2000000000.0"},
        {"i": "r" * 65, "d": "2000000000.0"},
        {"i": "r1", "d": "soon"},
        {"i": "r1", "d": "nan"},
        {"i": "r1", "d": "1e30"},
        {"i": "another", "d": "2000000000.0"},
    ],
)
async def test_an_entry_that_does_not_say_whose_it_is_is_admitted_by_its_message(bus, other, a_request, fields):
    """As one of an older orchestrator. What its other fields say is no more than a way to be faster."""
    await bus.skills(PICK)._make_group()
    more = [part for pair in fields.items() for part in pair]
    await command(bus, "XADD", KEYS.skill_stream(PICK), "*", "m", encode(a_request()), *more)
    queue = other.skills(PICK)
    delivery = await queue.take(60, begin=True)
    assert (delivery.request.request_id, delivery.started, delivery.begun) == ("r1", False, False)
    assert await command(bus, "EXISTS", KEYS.owner("skill:pick", "r1"))
    assert not await command(bus, "EXISTS", KEYS.owner("skill:pick", "another"))
    assert not await is_started(bus, "another")
    await queue.mark_started(delivery)
    assert await is_started(bus)


@pytest.mark.parametrize(("requests", "left"), [(5, 5), (MOST_LEFT + 3, 3)])
async def test_results_that_came_with_their_signals_are_taken_off_together(
    bus, other, a_request, a_result, eventually, monkeypatch, requests, left
):
    """So that the way to the stream delays no request: at the next poll, or when there are many."""
    waits = []

    async def wait_without_poll(self):
        waits.append(self)
        await self._event.wait()
        self._event.clear()

    async def so_many_are_left():
        return await command(bus, "XLEN", replies.stream(PICK)) == left

    monkeypatch.setattr("quartet_bus._notifications.Wakeup.wait", wait_without_poll)
    queue = other.skills(PICK)
    async with bus.replies() as replies, asyncio.timeout(60):
        # Each reader reads once at its start and once when its subscription is active.
        await eventually(lambda: len(waits) == 2 * len(Skill))
        for number in range(requests):
            request = a_request(f"r{number}", reply_to=replies.stream(PICK))
            asked = asyncio.create_task(replies.ask(bus.skills(PICK), request))
            delivery = await queue.take(60, begin=True)
            await queue.finish(delivery, a_result(request))
            await asked
            if number == MOST_LEFT - 1:
                await eventually(lambda: len(waits) == 2 * len(Skill) + 1)
        await eventually(so_many_are_left)
        assert len(waits) == 2 * len(Skill) + requests // MOST_LEFT
