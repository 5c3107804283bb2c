"""Questions to the participants of teams, their programs, and the answers."""

import asyncio
import time

import pytest

from quartet_bus import Bus, BusOptions, Credentials, NoAnswerError
from quartet_bus.access import acl_file, digest
from quartet_contracts import ProgramAnswer, ProgramRequest, TurnAnswer, TurnRequest
from quartet_process import Secret
from support.store import command


def turn(bus, number=1, **fields):
    now, request_id = time.time(), f"turn-{number}"
    fields = {"robot": "ada", "created_at": now, "deadline": now + 60, "prompt": "?", **fields}
    reply_to = bus.turns.reply_stream(request_id)
    return TurnRequest(**{"request_id": request_id, "task_id": "t1", "grant": "g", "reply_to": reply_to, **fields})


async def take(bus):
    async with asyncio.timeout(30):
        while (delivery := await bus.turns.take()) is None:
            pass
        return delivery


async def test_an_answer_comes_to_who_has_asked(bus, other):
    asking = asyncio.create_task(bus.turns.ask(turn(bus), 30))
    delivery = await take(other)
    assert delivery.message.robot == "ada"
    assert await other.turns.finish(delivery, TurnAnswer(request_id="turn-1", text="I Agree"))
    assert (await asking).text == "I Agree"


async def test_a_turn_of_a_process_that_has_died_is_taken_by_another(bus, redis_url, bus_options):
    asking = asyncio.create_task(bus.turns.ask(turn(bus), 30))
    async with await Bus.connect(redis_url, bus_options) as dead:
        await take(dead)
    async with await Bus.connect(redis_url, bus_options) as alive:
        delivery = await take(alive)
        assert delivery.redelivered
        await alive.turns.finish(delivery, TurnAnswer(request_id="turn-1", text="I Agree"))
    assert (await asking).text == "I Agree"


async def test_without_anybody_who_speaks_there_is_an_error_soon(bus):
    with pytest.raises(NoAnswerError, match=r"no process speaks for 'ada' \(is the approach agent running\?\)"):
        await bus.turns.ask(turn(bus), 0.2)


async def test_without_an_answer_there_is_an_error_at_the_deadline(bus, other):
    asking = asyncio.create_task(bus.turns.ask(turn(bus, deadline=time.time() + 0.5), 30))
    await take(other)
    with pytest.raises(NoAnswerError, match="the turn of 'ada' got no answer in time"):
        await asking


@pytest.mark.parametrize("off_s", [3600.0, -3600.0])
async def test_a_question_comes_in_time_whatever_the_clock_of_who_asks(bus, other, monkeypatch, off_s):
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + off_s)
    asked = turn(bus)
    monkeypatch.undo()
    asking = asyncio.create_task(bus.turns.ask(asked, 30))
    delivery = await take(other)
    assert 0 < delivery.left_s <= 60
    assert await other.turns.finish(delivery, TurnAnswer(request_id="turn-1", text="I Agree"))
    assert (await asking).text == "I Agree"


async def test_an_answer_cannot_be_sent_to_another_stream(bus, other):
    """A request that names a stream of its own choice becomes a dead letter."""
    forged = turn(bus).model_copy(update={"reply_to": "quartet:tasks:ada"})
    await bus.turns._add(forged)
    asking = asyncio.create_task(bus.turns.ask(turn(bus, 2), 30))
    delivery = await take(other)
    assert delivery.message.request_id == "turn-2"
    await other.turns.finish(delivery, TurnAnswer(request_id="turn-2"))
    await asking
    assert await command(bus, "EXISTS", "quartet:tasks:ada") == 0


async def test_only_an_approach_agent_may_answer(make_redis, tmp_path, bus_options):
    roles = ("orchestrator", "approach", "pick")
    users = tmp_path / "users.acl"
    users.write_text(acl_file({role: [digest(f"password of {role}")] for role in roles}))
    url = make_redis(users=users).url
    opened = [
        await Bus.connect(url, bus_options, credentials=Credentials(role, Secret.fixed(f"password of {role}")))
        for role in roles
    ]
    orchestrator, approach, pick = opened
    try:
        asking = asyncio.create_task(orchestrator.turns.ask(turn(orchestrator), 30))
        delivery = await take(approach)
        assert await pick.turns.take() is None
        with pytest.raises(Exception, match=r"NOPERM|no permissions|gives it no rights"):
            await pick.turns.finish(delivery, TurnAnswer(request_id="turn-1", text="I object"))
        assert await approach.turns.finish(delivery, TurnAnswer(request_id="turn-1", text="I Agree"))
        assert (await asking).text == "I Agree"
    finally:
        for bus in opened:
            await bus.close()


def program(bus, number=1):
    now, request_id = time.time(), f"program-{number}"
    fields = {"robot": "ada", "created_at": now, "deadline": now + 60, "code": "print(1)"}
    reply_to = bus.programs.reply_stream(request_id)
    return ProgramRequest(request_id=request_id, task_id="t1", reply_to=reply_to, **fields)


async def test_a_program_of_an_executor_that_has_died_is_taken_by_another_and_has_no_grant(make_redis, tmp_path):
    hasty = BusOptions(lease_s=0.5, block_ms=50)
    users = tmp_path / "users.acl"
    users.write_text(acl_file({role: [digest(f"password of {role}")] for role in ("orchestrator", "executor")}))
    url = make_redis(users=users).url

    async def open_as(role):
        return await Bus.connect(url, hasty, credentials=Credentials(role, Secret.fixed(f"password of {role}")))

    async with await open_as("orchestrator") as orchestrator, await open_as("executor") as alive:
        asking = asyncio.create_task(orchestrator.programs.ask(program(orchestrator), 30))
        async with await open_as("executor") as dead, asyncio.timeout(30):
            while (delivery := await dead.programs.take()) is None:
                pass
        async with asyncio.timeout(30):
            while (delivery := await alive.programs.take()) is None:
                pass
        assert delivery.redelivered
        assert "grant" not in delivery.message.model_dump()
        assert await alive.programs.finish(delivery, ProgramAnswer(request_id="program-1", text="1"))
        assert (await asking).text == "1"
