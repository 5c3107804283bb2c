"""Tasks that go on for long: a full journal, a place made twice, a server that stays away."""

import asyncio
import contextlib
import json
import time

import pytest

from quartet_bus import BusOptions
from quartet_contracts import JournalEvent, Skill, State, encode
from quartet_contracts.journal import Note
from quartet_orchestrator.errors import FenceRefusedError
from quartet_orchestrator.grants import GrantSigner
from quartet_orchestrator.recovery.fencing import FenceClient
from support.store import KEYS, command

FILL = "for _ = 1, ARGV[1] do redis.call('XADD', KEYS[1], '*', 'm', ARGV[2]) end"


async def fill_journal(agents, delivery):
    """Write as many events about a request as a task may have."""
    request = delivery.request
    said = JournalEvent(
        task_id=request.task_id,
        actor=str(request.skill),
        at=time.time(),
        event=Note(text="…"),
        request_id=request.request_id,
    )
    key = KEYS.journal(request.task_id)
    await command(agents.bus, "EVAL", FILL, 1, key, BusOptions().journal_events, encode(said))


async def test_a_full_journal_ends_the_task_with_a_clear_word(start, agents, model, do):
    async def talkative(agents, delivery):
        await fill_journal(agents, delivery)
        return {"success": True, "error_code": "NONE", "reason": "there", "state": State.SUCCEEDED}

    agents.answers["approach"].append(talkative)
    agents.start()
    model.say(do.approach(), do.pick(), do.report(True))
    async with start() as client:
        task_id = await client.submit()
        status = await client.until_state(task_id, State.SUCCEEDED, State.FAILED)
    assert status.state is State.FAILED
    assert "20000 events" in status.report.summary
    assert "new task" in status.report.summary
    assert [skill for skill, _ in agents.calls] == ["approach"], "no further step was begun"
    assert (await agents.bus.journal.read_all(task_id))[-1].event.state is State.FAILED


async def test_a_full_journal_hinders_no_measurement_of_the_end(start, with_cameras, agents, model, world, do):
    async def talkative(agents, delivery):
        world.grasp = "EMPTY"
        world.in_view = {"wooden coffee table": (0.9, 0.0, 0.5), "red coke can": (0.95, 0.05, 0.56)}
        await fill_journal(agents, delivery)
        return do.failing("PLACE_PLAN_FAILED", reason="the can was released")

    agents.answers["place"] = [talkative]
    agents.start()
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.drop, do.report(True, do.delivered))
    async with start(servers=with_cameras) as client:
        task_id = await client.submit()
        status = await client.until_state(task_id, State.SUCCEEDED, State.FAILED)
    assert status.state is State.FAILED
    assert "20000 events" in status.report.summary
    (row,) = status.report.objects
    assert (row.completed, row.error_code) == (True, "NONE"), row


async def test_a_place_after_one_that_failed_may_find_it_done(start, agents, model, do):
    """It may have let go before it failed: an empty gripper is then no reason to fetch the thing again."""
    agents.answers["place"].append(do.failing("PLACE_PLAN_FAILED", reason="the arm did not get up again"))
    agents.start()
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.place(), do.report(True, do.delivered))
    async with start() as client:
        status = await client.run()
    assert status.state is State.SUCCEEDED, status.report
    places = [request for request in agents.requests if request.skill is Skill.PLACE]
    assert [request.follows_uncertain for request in places] == [False, True]


@pytest.mark.parametrize(
    ("code", "may_be_around_it"), [("UNKNOWN", True), ("PICK_ATTACH_TIMEOUT", True), ("PICK_SEG_MISSED", False)]
)
async def test_a_pick_after_one_that_failed_at_the_object_is_told_so(start, agents, model, do, code, may_be_around_it):
    """Its open fingers may be around the thing, which no camera then shows as one to be picked."""
    agents.answers["pick"].append(do.failing(code))
    agents.start()
    model.say(do.approach(), do.pick(), do.approach(), do.pick(), do.drop, do.place(), do.report(True, do.delivered))
    async with start() as client:
        status = await client.run()
    assert status.state is State.SUCCEEDED, status.report
    picks = [request for request in agents.requests if request.skill is Skill.PICK]
    assert [request.follows_uncertain for request in picks] == [False, may_be_around_it]


async def test_a_motion_server_that_stays_away_is_waited_for_once(settings, agents):
    servers = {"summit": {**settings.servers["summit"], "moveit": "http://127.0.0.1:9/mcp"}}
    used = settings.model_copy(update={"servers": servers, "fence_timeout_s": 0.3})
    fencer = FenceClient(agents.bus, GrantSigner.from_settings(used), used)
    try:
        with pytest.raises(FenceRefusedError, match="'moveit' does not answer"):
            await fencer.raise_fence("summit", "r1")
        used.fence_timeout_s = 3600.0
        async with asyncio.timeout(120):
            with pytest.raises(FenceRefusedError, match="'moveit' does not answer"):
                await fencer.raise_fence("summit", "r2")
    finally:
        await fencer.close()


@pytest.mark.parametrize(
    ("chunk", "pause_s", "says"), [(b" ", 0.02, "not whole within 0.3 s"), (b" " * 65536, 0.0, "longer than")]
)
async def test_a_server_whose_answer_never_ends_holds_up_no_fence(settings, agents, monkeypatch, chunk, pause_s, says):
    monkeypatch.setattr("quartet_orchestrator.recovery.fencing.TRY_S", 0.3 if pause_s else 30.0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(chunk)
                await writer.drain()
                await asyncio.sleep(pause_s)

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening, asyncio.timeout(30):
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"
        servers = {"summit": {**settings.servers["summit"], "moveit": url}}
        used = settings.model_copy(update={"servers": servers, "fence_timeout_s": 0.1})
        fencer = FenceClient(agents.bus, GrantSigner.from_settings(used), used)
        try:
            with pytest.raises(FenceRefusedError, match=f"'moveit' does not answer.*{says}"):
                await fencer.raise_fence("summit", "r1")
        finally:
            await fencer.close()


async def test_a_server_that_is_away_for_a_moment_is_told_to_end_a_request_once_it_is_back(settings, agents):
    """It starts again and knows nothing of the end; its grant would let the agent begin another motion."""
    answers = [
        b"",
        b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    ]
    ordered: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.splitlines() if line.lower().startswith(b"content-len"))
        ordered.append(json.loads(await reader.readexactly(length))["request_id"])
        writer.write(answers.pop(0))
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        servers = {"summit": {"moveit": f"http://127.0.0.1:{port}/mcp"}}
        used = settings.model_copy(update={"servers": servers})
        fencer = FenceClient(agents.bus, GrantSigner.from_settings(used), used)
        try:
            await fencer.end_motions("summit", "r1", "canceled")
        finally:
            await fencer.close()
    assert (ordered, answers) == (["r1"] * 3, [])
