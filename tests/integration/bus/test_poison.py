"""What cannot be handled is put aside with the reason; nobody crashes and the asker is told."""

import asyncio
import json

import pytest

from quartet_bus import Bus, BusOptions
from quartet_bus._replies import Waiter
from quartet_contracts import Skill, State, encode
from support.store import KEYS, command


async def put(bus, skill=Skill.PICK, **fields):
    queue = bus.skills(skill)
    await queue._make_group()
    pairs = [item for pair in fields.items() for item in pair]
    await command(bus, "XADD", KEYS.skill_stream(skill), "*", *pairs)
    return queue


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"x": "1"}, "has no field 'm', it has: x"),
        ({"m": b"\xff\xfe"}, "is not JSON"),
        ({"m": "[]"}, "must be a JSON object"),
        ({"m": "{}"}, "request_id: Field required"),
        ({"m": '{"schema_version": "2.0"}'}, "schema_version '2.0'"),
        ({"m": "x" * 70_000}, "the cap is 65536"),
        ({"m": "[" * 20_000}, "is not JSON"),
        ({"m": '{"request_id": "\\ud800"}'}, "is not JSON"),
        ({"m": b'{"request_id": "r1", "task_id": "t1", "reply_to": "quartet:replies:\xed\xa0\x80"}'}, "is not JSON"),
        ({"m": '{"deadline": 1e300}'}, "deadline: Input should be less than or equal to"),
    ],
)
async def test_a_malformed_entry_goes_to_the_dead_letters(bus, fields, reason, a_request):
    queue = await put(bus, **fields)
    await queue.submit(a_request("good"))
    assert (await queue.take(60)).request.request_id == "good"
    (letter,) = await bus.dead_letters.list()
    assert reason in letter.reason
    assert letter.stream == "quartet:skill:pick"
    assert await command(bus, "XLEN", "quartet:skill:pick") == 1


async def test_whoever_asked_for_nonsense_is_told(bus, a_request):
    async with bus.replies() as replies:
        broken = json.loads(encode(a_request(reply_to=replies.stream(Skill.PICK))))
        broken["arguments"] = {"object_name": ""}
        queue = bus.skills(Skill.PICK)
        waiter = replies._waiting[Skill.PICK, "r1"] = Waiter()
        await put(bus, m=json.dumps(broken))
        assert await queue.take(0.3) is None
        result = await waiter.wait(60)
    assert (result.error_code, result.state) == ("UNKNOWN", State.FAILED)
    assert "the request could not be read" in result.reason
    (letter,) = await bus.dead_letters.list()
    assert '"grant": "***"' in letter.message
    assert "object_name" in result.reason


@pytest.mark.parametrize("reply_to", ["quartet:index", "other", "quartet:replies:pick:", "quartet:replies:place:x"])
async def test_an_answer_is_never_written_to_a_foreign_key(bus, a_request, reply_to):
    queue = bus.skills(Skill.PICK)
    await queue.submit(a_request(reply_to=reply_to))
    assert await queue.take(0.3) is None
    assert "is not a reply stream" in (await bus.dead_letters.list())[0].reason
    assert not await command(bus, "EXISTS", reply_to)


async def test_a_message_on_a_foreign_stream_is_put_aside(bus, a_request, a_task):
    """A request of another skill, and a task of a robot that this lease is not for."""
    queue = await put(bus, Skill.PLACE, m=encode(a_request("stray")))
    assert await queue.take(0.3) is None
    assert "the request is for 'pick', this is the stream of 'place'" in (await bus.dead_letters.list())[0].reason
    tasks = bus.robot_tasks("second")
    await tasks._make_group()
    for task in (a_task("stray"), a_task("good", robot="second")):
        await command(bus, "XADD", KEYS.task_stream("second"), "*", "m", encode(task))
    async with asyncio.timeout(60):
        assert (await tasks.take()).task.task_id == "good"
    assert "this is the stream of 'second'" in (await bus.dead_letters.list())[0].reason


async def test_an_entry_that_its_reader_stumbles_over_is_put_aside(bus, a_request, monkeypatch, caplog):
    caplog.set_level("CRITICAL", "quartet_bus._queue")  # a report with half a pair in it cannot leave a test worker
    queue = await put(bus, m="strange")
    await queue.submit(a_request("good"))
    decode = queue._decode

    def stumble(data):
        if data == b"strange":
            raise RuntimeError("half a pair \ud800")
        return decode(data)

    monkeypatch.setattr(queue, "_decode", stumble)
    assert (await queue.take(60)).request.request_id == "good"
    (letter,) = await bus.dead_letters.list()
    assert "RuntimeError: half a pair" in letter.reason
    assert await command(bus, "XLEN", "quartet:skill:pick") == 1


@pytest.mark.parametrize("started", [True, False])
async def test_an_entry_that_kills_every_consumer_is_put_aside(redis_url, a_request, started):
    options = BusOptions(lease_s=0.2, block_ms=50, delivery_cap=2)
    async with await Bus.connect(redis_url, options) as asking, asking.replies() as replies:
        asked = asyncio.create_task(
            replies.ask(asking.skills(Skill.PICK), a_request(reply_to=replies.stream(Skill.PICK)), absent_after_s=20)
        )
        taken = 0
        while not asked.done():
            async with await Bus.connect(redis_url, options) as dying:
                queue = dying.skills(Skill.PICK)
                delivery = await queue.take(1)
                if delivery is not None:
                    taken += 1
                    if started and taken == 1:
                        await queue.mark_started(delivery)
            await asyncio.sleep(0)
        result = await asked
        assert taken == 2
        assert result.state == (State.UNCERTAIN if started else State.FAILED)
        assert "delivered 3 times without an answer" in result.reason
        assert len(await asking.dead_letters.list()) == 1


async def test_a_task_does_not_wait_behind_what_nobody_can_read(redis_url, a_task):
    """Each would cost a poll of two seconds otherwise."""
    async with await Bus.connect(redis_url, BusOptions(lease_s=60, block_ms=200)) as bus:
        tasks = bus.robot_tasks("summit")
        await tasks._make_group()
        for number in range(100):
            await command(bus, "XADD", KEYS.task_stream("summit"), "*", "m", f"nonsense {number}")
        await bus.tasks.submit(a_task("good"))
        async with asyncio.timeout(120):
            assert (await tasks.take()).task.task_id == "good"
        assert len(await bus.dead_letters.list()) == 100
