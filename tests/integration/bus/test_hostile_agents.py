"""An agent that was taken over sends raw commands as its own user: no other process ends or believes it."""

import asyncio
import json
import time
import zlib

import pytest
import redis
from redis.backoff import NoBackoff
from redis.exceptions import NoPermissionError
from redis.retry import Retry

from quartet_bus import Bus, BusOptions, Credentials, NoAnswerError
from quartet_bus._skipped import SKIPPED
from quartet_bus._transcripts import LOOPS
from quartet_bus.access import ROLES, acl_file, digest
from quartet_bus.functions.queues import RESULT_BYTES, Finish
from quartet_bus.functions.records import TakeEntries
from quartet_contracts import JournalEvent, Skill, State, TaskReport
from quartet_contracts.approvals import ApprovalRequest
from quartet_contracts.journal import Note, Reported, SkillFinished, StateChanged, ToolCalled
from quartet_contracts.skills import unknown_result
from quartet_process import Secret
from support.store import command

PASSWORDS = {role: f"the-password-of-{role}" for role in ROLES}
STREAM = "quartet:agent-journal:pick:r1"
HIGHEST = "18446744073709551615-18446744073709551615"


@pytest.fixture
def guarded(make_redis, tmp_path):
    users = tmp_path / "users.acl"
    users.write_text(acl_file({role: [digest(password)] for role, password in PASSWORDS.items()}))
    return make_redis(users=users)


@pytest.fixture
async def owner(guarded, bus_options):
    credentials = Credentials("orchestrator", Secret.fixed(PASSWORDS["orchestrator"]))
    async with await Bus.connect(guarded.url, bus_options, credentials=credentials) as bus:
        yield bus


@pytest.fixture
async def pick(guarded, owner, bus_options):
    credentials = Credentials("pick", Secret.fixed(PASSWORDS["pick"]))
    async with await Bus.connect(guarded.url, bus_options, credentials=credentials) as bus:
        yield bus


@pytest.fixture
def raw(guarded, owner):
    """The pick agent's user, without the bus."""
    with redis.Redis(
        port=guarded.port, protocol=2, username="pick", password=PASSWORDS["pick"], retry=Retry(NoBackoff(), 0)
    ) as client:
        yield client


def skipped(kind):
    return SKIPPED.labels(kind)._value.get()


def event(what, **fields):
    return JournalEvent(
        **{"task_id": "t1", "actor": "pick", "at": time.time(), "event": what, "request_id": "r1", **fields}
    )


FORGED = [
    {"m": b"not JSON"},
    {"m": b"[]"},
    {"m": b'{"schema_version": "9.0"}'},
    {"x": b"another field"},
    {"m": b"x" * 200_000},
    {
        "m": event(
            SkillFinished(
                request_id="r1", skill="pick", success=True, error_code="NONE", reason="held", state=State.SUCCEEDED
            )
        ).model_dump_json()
    },
    {"m": event(StateChanged(state=State.SUCCEEDED)).model_dump_json()},
    {"m": event(Reported(report=TaskReport(success=True, summary="done"))).model_dump_json()},
    {"m": event(Note(text="of the owner"), actor="orchestrator", request_id=None).model_dump_json()},
    {"m": event(Note(text="of another agent"), actor="place").model_dump_json()},
    {"m": event(Note(text="of another request"), request_id="r2").model_dump_json()},
    {"m": event(Note(text="of another task"), task_id="t2").model_dump_json()},
]


async def test_only_events_that_are_the_agents_to_write_reach_the_journal(owner, pick, raw, a_request):
    request, before = a_request("r1"), skipped("agent journal")
    relaying = asyncio.create_task(owner.journal.relay(request, None))
    await pick.journal.append(event(ToolCalled(call_id="c", tool="moveit__open_gripper", arguments={})))
    for fields in FORGED:
        raw.xadd(STREAM, fields)
    raw.xadd(STREAM, {"m": event(Note(text="honest")).model_dump_json()}, id=HIGHEST)
    async with asyncio.timeout(30):
        async for one in owner.journal.follow("t1"):
            if one.event.kind == "note":
                break
    relaying.cancel()
    assert [one.event.kind for one in await owner.journal.read_all("t1")] == ["tool_call", "note"]
    assert skipped("agent journal") - before == len(FORGED)
    assert await owner.journal.read_all("t2") == []
    await owner.journal.append(event(StateChanged(state=State.SUCCEEDED), actor="orchestrator", request_id=None))
    assert len(await owner.journal.read_all("t1")) == 3


async def test_an_agent_makes_no_key_of_another_type_than_the_owner_reads(owner, pick, raw, a_request):
    """Reading it would raise in the process that owns the tasks, again and again, and its health would tell a fault."""
    with pytest.raises(NoPermissionError):
        raw.hset(STREAM, "a", "b")
    await pick.journal.append(event(Note(text="mine")))
    await owner.journal.copy_agent_events(a_request("r1"), None)
    assert [one.event.text for one in await owner.journal.read_all("t1")] == ["mine"]


@pytest.mark.parametrize("at", [1.0, 3e9], ids=["long ago", "to come"])
async def test_an_agent_does_not_tell_when_its_events_came(owner, pick, a_request, at):
    """A task that is taken over gets as much more time as has passed since its last event."""
    began = time.time()
    await pick.journal.append(event(Note(text="mine"), at=at))
    await owner.journal.copy_agent_events(a_request("r1"), None)
    (copied,) = await owner.journal.read_all("t1")
    # Redis' clock and this one are the same; an entry's id has milliseconds.
    assert began - 0.01 <= copied.at <= time.time()


async def test_what_was_copied_outlasts_what_the_agent_does_to_its_stream(owner, pick, raw, a_request):
    request = a_request("r1")
    await pick.journal.append(event(Note(text="first")))
    await owner.journal.copy_agent_events(request, None)
    raw.xadd(STREAM, {"m": b"x"}, maxlen=0, approximate=False)
    raw.pexpire(STREAM, 1)
    await owner.journal.copy_agent_events(request, None)
    assert [one.event.text for one in await owner.journal.read_all("t1")] == ["first"]


async def test_an_event_is_copied_once_also_when_its_copier_died_before_it_was_deleted(
    owner, pick, a_request, monkeypatch
):
    request = a_request("r1")
    await pick.journal.append(event(Note(text="once")))
    call = owner._store.call

    async def dies(*command):
        if command[0] == "XDEL":
            raise ConnectionError("the copier died")
        return await call(*command)

    monkeypatch.setattr(owner._store, "call", dies)
    with pytest.raises(ConnectionError):
        await owner.journal.copy_agent_events(request, None)
    monkeypatch.undo()
    await owner.journal.copy_agent_events(request, None)
    assert [one.event.text for one in await owner.journal.read_all("t1")] == ["once"]
    assert await command(owner, "XLEN", STREAM) == 0


async def test_an_agent_writes_no_more_events_than_a_task_may(guarded, owner, a_request):
    credentials = Credentials("pick", Secret.fixed(PASSWORDS["pick"]))
    async with await Bus.connect(guarded.url, BusOptions(journal_events=5), credentials=credentials) as bus:
        for _ in range(5):
            await bus.journal.append(event(Note(text="again")))
        await owner.journal.copy_agent_events(a_request("r1"), None)
        with pytest.raises(Exception, match="holds all of the 5 events"):
            await bus.journal.append(event(Note(text="one more")))


async def test_an_agent_that_writes_without_end_does_not_keep_its_request_open(guarded, owner, raw, a_request):
    """Each event that is read makes room for another one; a request that cannot end would keep its robot for ever."""
    credentials = Credentials("orchestrator", Secret.fixed(PASSWORDS["orchestrator"]))
    async with await Bus.connect(guarded.url, BusOptions(journal_events=5), credentials=credentials) as bus:
        run = bus._store.run

        async def flooded(function):
            raw.xadd(STREAM, {"m": b"junk"})
            return await run(function)

        bus._store.run = flooded
        await asyncio.wait_for(bus.journal.copy_agent_events(a_request("r1"), None), 5)


async def test_a_transcript_that_unpacks_to_much_more_is_skipped(owner, pick, raw):
    await pick.transcripts.save("t1", "r1", {"messages": []})
    await owner.transcripts.save("t1", "orchestrator", {"actor": "orchestrator", "messages": []})
    bomb = zlib.compress(json.dumps({"messages": ["x" * 50_000_000]}).encode(), 9)
    raw.hset("quartet:transcripts:pick:t1", mapping={"bomb": bomb, "junk": b"junk", "list": zlib.compress(b"[]")})
    raw.hset("quartet:transcripts:pick:t1", "orchestrator", zlib.compress(b'{"actor": "pick"}'))
    before = skipped("transcript")
    assert [await owner.transcripts.get("t1", name) for name in ("bomb", "junk", "list")] == [None] * 3
    assert skipped("transcript") - before == 3
    assert await owner.transcripts.get("t1", "r1") == {"messages": []}
    assert (await owner.transcripts.get("t1", "orchestrator"))["actor"] == "orchestrator"
    assert {"r1", "orchestrator"} <= set(await owner.transcripts.list("t1"))


async def test_a_picture_that_was_replaced_is_not_shown(owner, pick, raw):
    reference = await pick.images.put("t1", b"picture", "image/jpeg")
    assert await owner.images.get("t1", reference) == (b"picture", "image/jpeg")
    raw.set(f"quartet:image:pick:t1:{reference}", b"image/jpeg\nanother picture")
    assert await owner.images.get("t1", reference) is None
    raw.set(f"quartet:image:pick:t1:{reference}", b"no line break")
    assert await owner.images.get("t1", reference) is None


async def test_an_unreadable_approval_is_skipped_and_the_next_one_is_answered(owner, pick, raw, eventually):
    asked = asyncio.create_task(owner.approvals.next("pick", "r1"))
    before = skipped("approval")
    raw.set("quartet:approval:pick:r1", b"junk")
    raw.publish("quartet:signal:approval-asked:r1", "")
    await eventually(lambda: skipped("approval") > before)
    request = ApprovalRequest(
        approval_id="a1",
        request_id="r1",
        task_id="t1",
        robot="summit",
        agent="pick",
        tool="moveit__open_gripper",
        arguments={},
        expires_at=time.time() + 5,
    )
    for_another = request.model_copy(update={"request_id": "r2", "approval_id": "a2"})
    raw.set("quartet:approval:pick:r1", for_another.model_dump_json())
    raw.publish("quartet:signal:approval-asked:r1", "")
    await eventually(lambda: skipped("approval") == before + 2 or asked.done())
    assert not asked.done(), "its decision would be noted elsewhere, and it would be asked again without end"
    asking = asyncio.create_task(pick.approvals.ask(request, 60))
    assert (await asyncio.wait_for(asked, 30)).approval_id == "a1"
    asking.cancel()


async def test_unreadable_dead_letters_hide_no_others(owner, pick, raw):
    raw.xadd("quartet:dead:pick", {"x": "y"})
    raw.xadd("quartet:dead:pick", {"stream": "s", "entry_id": "1-1", "reason": "r", "message": "m", "at": "never"})
    await command(owner, "XADD", "quartet:skill:pick", "*", "m", "junk")
    assert await pick.skills(Skill.PICK).take(0) is None
    assert [letter.stream for letter in await owner.dead_letters.list()] == ["quartet:skill:pick"]


@pytest.fixture
def full(guarded):
    """`full()`: Redis has as much as it may."""

    def fill():
        with redis.Redis(port=guarded.port, protocol=2, username="admin", password=PASSWORDS["admin"]) as admin:
            admin.config_set("maxmemory", "1mb")

    return fill


def finish(raw, number, result, entry="1-1"):
    return raw.execute_command(
        "FCALL", Finish.name(), 2, "quartet:skill:pick", f"quartet:done:skill:pick:r{number}",
        "pick", entry, result, 3_600_000, "quartet:signal:quartet:replies:pick:x",
    )  # fmt: skip


async def test_a_result_fills_a_full_store_no_further(owner, pick, raw, full, a_request):
    """Redis takes results above its maxmemory: one for each request that there is, and of no more than two messages."""
    await owner.skills(Skill.PICK).submit(a_request("r1"))
    delivery = await pick.skills(Skill.PICK).take(10)
    full()
    entry = delivery.lease.entry_id
    with pytest.raises(redis.ResponseError, match=r"TOOLARGE a result has 131073 bytes, the limit is 131072"):
        finish(raw, 1, b"x" * (RESULT_BYTES + 1), entry)
    assert [finish(raw, number, b"x") for number in range(1, 4)] == [-1] * 3
    assert finish(raw, 1, b"x" * RESULT_BYTES, entry) == 1
    assert finish(raw, 2, b"x", entry) == -1
    assert await command(owner, "EXISTS", *(f"quartet:done:skill:pick:r{number}" for number in range(1, 4))) == 1


async def test_a_result_that_is_too_large_ends_its_request_as_uncertain(owner, pick, a_request, a_result):
    async with owner.replies() as replies:
        request = a_request("r1", reply_to=replies.stream(Skill.PICK))
        asking = asyncio.create_task(replies.ask(owner.skills(Skill.PICK), request))
        delivery = await pick.skills(Skill.PICK).take(10)
        result = a_result(request).model_copy(update={"reason": "x" * 70_000})
        assert await pick.skills(Skill.PICK).finish(delivery, result)
        answer = await asyncio.wait_for(asking, 30)
    assert (answer.state, answer.error_code) == (State.UNCERTAIN, "UNKNOWN")
    assert "its result (NONE) was too large to be sent: PickResult is" in answer.reason


async def test_answers_of_any_size_and_number_are_read_in_bounded_parts(owner, pick, raw, a_request, eventually):
    """And what was written behind the highest id there is hinders no later answer."""
    stream = f"quartet:replies:pick:{owner.replica}"
    for _ in range(5):
        raw.xadd(stream, {"m": b"x" * 8_000_000})
    raw.xadd(stream, {"m": b"x"}, id=HIGHEST)
    before, run, sizes = skipped("reply"), owner._store.run, []

    async def measured(function):
        answer = await run(function)
        if isinstance(function, TakeEntries):
            sizes.append(sum(len(data or b"") for data in answer))
        return answer

    owner._store.run = measured
    async with owner.replies() as replies:
        await eventually(lambda: skipped("reply") - before == 6)
        assert not await command(owner, "EXISTS", stream)
        request = a_request("r1", reply_to=replies.stream(Skill.PICK))
        asking = asyncio.create_task(replies.ask(owner.skills(Skill.PICK), request))
        delivery = await pick.skills(Skill.PICK).take(10)
        await pick.skills(Skill.PICK).finish(delivery, unknown_result(request, "the honest answer", State.FAILED))
        assert (await asyncio.wait_for(asking, 30)).reason == "the honest answer"
    assert max(sizes) < 100_000


async def test_names_of_transcripts_are_listed_within_bounds(owner, pick, raw):
    await pick.transcripts.save("t1", "r1", {"messages": []})
    before = skipped("transcript")
    raw.hset("quartet:transcripts:pick:t1", "n" * 1_000_000, b"x")
    assert await owner.transcripts.list("t1") == ["r1"]
    raw.hset("quartet:transcripts:pick:t1", mapping={f"name {number}": b"x" for number in range(LOOPS)})
    await owner.transcripts.save("t1", "orchestrator", {"messages": []})
    assert await owner.transcripts.list("t1") == ["orchestrator"]
    assert skipped("transcript") - before == 2


async def test_dead_letters_are_capped_and_read_within_bounds(guarded, owner, raw):
    raw.xadd("quartet:dead:pick", {"stream": "s", "entry_id": "1-1", "reason": "r", "message": "m", "at": "1"})
    before = skipped("dead letter")
    raw.xadd("quartet:dead:pick", {"stream": "s", "entry_id": "1-1", "reason": "r", "message": b"x" * 200_000, "at": 1})
    assert [letter.message for letter in await owner.dead_letters.list()] == ["m"]
    assert skipped("dead letter") - before == 1
    for _ in range(20):
        raw.xadd("quartet:dead:pick", {"x": "y"})
    credentials = Credentials("orchestrator", Secret.fixed(PASSWORDS["orchestrator"]))
    async with await Bus.connect(guarded.url, BusOptions(dead_letters=5), credentials=credentials) as bus:
        assert await bus.dead_letters.count() == 5
    assert await command(owner, "XLEN", "quartet:dead:pick") == 5


async def test_an_agent_that_is_gone_does_not_look_alive_by_a_presence_in_the_future(owner, raw, a_request):
    queue, present = owner.skills(Skill.PICK), "quartet:skill:pick:present"
    raw.zadd(present, {f"ghost {ahead}": time.time() + ahead for ahead in range(10, 3_600, 10)})
    raw.zadd(present, {"ghost": "+inf"})
    assert await queue.alive() == 0
    async with owner.replies() as replies:
        request = a_request("r1", reply_to=replies.stream(Skill.PICK))
        with pytest.raises(NoAnswerError, match="no pick agent is running"):
            await asyncio.wait_for(replies.ask(queue, request, absent_after_s=0.3), 30)
    assert await command(owner, "ZCOUNT", present, f"({time.time() + 2}", "+inf") == 0


@pytest.mark.parametrize("forged", [b"junk", b"x" * 300_000, b'{"request_id": "r1"}'])
async def test_a_result_that_cannot_be_read_leaves_the_outcome_open(owner, raw, a_request, forged):
    """It is settled by looking; the task does not end of it."""
    async with owner.replies() as replies:
        request = a_request("r1", reply_to=replies.stream(Skill.PICK))
        asking = asyncio.create_task(replies.ask(owner.skills(Skill.PICK), request, absent_after_s=0.3))
        await asyncio.sleep(0)
        raw.set("quartet:owner:skill:pick:r1", "1-1")
        raw.set("quartet:done:skill:pick:r1", forged)
        raw.xadd(replies.stream(Skill.PICK), {"m": forged[:100]})
        raw.xadd(replies.stream(Skill.PICK), {"x": "y"}, id=HIGHEST)
        with pytest.raises(NoAnswerError, match="cannot be read") as error:
            await asyncio.wait_for(asking, 30)
        assert error.value.taken
        assert error.value.started


@pytest.mark.parametrize("taken", [False, True])
async def test_a_group_behind_the_end_of_its_stream_does_not_stay_deaf(
    guarded, owner, pick, raw, a_request, a_result, eventually, taken
):
    """XCLAIM may name a last id; behind it no agent gets a request any more, one that was started anew neither."""
    queue, stream = pick.skills(Skill.PICK), "quartet:skill:pick"
    await owner.skills(Skill.PICK).submit(a_request("r1"))
    delivery = await queue.take(10)
    raw.execute_command("XCLAIM", stream, "pick", "any", 0, "1-1", "LASTID", HIGHEST)
    if not taken:
        assert await queue.finish(delivery, a_result(delivery.request))
    await owner.skills(Skill.PICK).submit(a_request("r2"))
    assert await queue.take(0.1) is None
    credentials = Credentials("orchestrator", Secret.fixed(PASSWORDS["orchestrator"]))
    async with await Bus.connect(guarded.url, BusOptions(consumers_look_s=0.05), credentials=credentials) as bus:
        watching = asyncio.create_task(bus.watch_consumers())

        async def delivered():
            return await queue.take(1)

        again = await eventually(delivered, 20)
        watching.cancel()
    assert again.request.request_id == "r2"
    if taken:
        assert not delivery.lost.is_set()
        assert await queue.finish(delivery, a_result(delivery.request))


async def test_consumers_and_groups_without_end_are_removed_and_what_was_taken_is_kept(
    guarded, owner, pick, raw, a_request, a_result, eventually
):
    queue, stream, before = pick.skills(Skill.PICK), "quartet:skill:pick", skipped("consumer")
    await owner.skills(Skill.PICK).submit(a_request("r1"))
    delivery = await queue.take(10)
    await queue.mark_started(delivery)
    raw.xgroup_create(stream, "another", "0")
    for number in range(50):
        raw.xreadgroup("pick" if number % 2 else "another", f"name {number}", {stream: "0"})
    await owner.skills(Skill.PICK).submit(a_request("r2"))
    taken = raw.xpending_range(stream, "pick", "-", "+", 10)
    credentials = Credentials("orchestrator", Secret.fixed(PASSWORDS["orchestrator"]))
    options = BusOptions(consumers=20, consumers_look_s=0.05)
    async with await Bus.connect(guarded.url, options, credentials=credentials) as bus:
        watching = asyncio.create_task(bus.watch_consumers())

        async def bounded():
            groups = await command(owner, "XINFO", "GROUPS", stream)
            return len(groups) == 1 and len(raw.xinfo_consumers(stream, "pick")) <= 20

        await eventually(bounded, 20)
        watching.cancel()
    kept = raw.xpending_range(stream, "pick", "-", "+", 10)
    named = ("message_id", "consumer", "times_delivered")
    assert [[one[name] for name in named] for one in kept] == [[one[name] for name in named] for one in taken]
    assert skipped("consumer") - before == 50
    assert not delivery.lost.is_set()
    assert await queue.finish(delivery, a_result(delivery.request))
    again = await queue.take(20)
    assert again.request.request_id == "r2"
