"""A journal tells everything once, and never forgets what a takeover needs."""

import secrets
import time

import pytest

from quartet_bus import Bus, BusOptions, JournalFullError
from quartet_contracts import JournalEvent
from quartet_contracts.journal import Happening, Note, ToolCalled, ToolProgress

MOST = 20


@pytest.fixture
async def bus(redis_url):
    async with await Bus.connect(redis_url, BusOptions(journal_events=MOST)) as opened:
        yield opened


def event(what: Happening, request_id: str | None = None) -> JournalEvent:
    return JournalEvent(task_id="t1", actor="pick", at=time.time(), event=what, request_id=request_id)


CALL = event(ToolCalled(call_id="c", tool="moveit__open_gripper", arguments={}), "r1")
PROGRESS = event(ToolProgress(call_id="c", tool="moveit__open_gripper", fraction=0.5), "r1")


async def test_an_append_that_comes_again_however_late_is_told_once(bus, monkeypatch):
    """A client that got no answer sends its command again, and the first one may have been carried out."""
    monkeypatch.setattr(secrets, "token_hex", lambda _size: "the same append")
    first = await bus.journal.append(event(Note(text="once")))
    monkeypatch.undo()
    second = await bus.journal.append(event(Note(text="later")))
    monkeypatch.setattr(secrets, "token_hex", lambda _size: "the same append")
    assert await bus.journal.append(event(Note(text="once"))) == first
    assert [e.event.text for e in await bus.journal.read_all("t1")] == ["once", "later"]
    assert await bus.journal.read("t1", after=first) == await bus.journal.read("t1", after=first, count=1)
    assert [e.position for e in await bus.journal.read("t1", after=first)] == [second]


async def test_a_long_task_loses_progress_and_then_its_steps_but_never_its_past(bus):
    first = await bus.journal.append(event(Note(text="the plan")))
    while await bus.journal.append(PROGRESS):
        pass
    assert len(await bus.journal.read_all("t1")) == MOST // 2
    while len(await bus.journal.read_all("t1")) < MOST:
        await bus.journal.require_room("t1")
        await bus.journal.append(CALL)
    with pytest.raises(JournalFullError, match=rf"'t1' holds all of the {MOST} events.*new task"):
        await bus.journal.append(CALL)
    with pytest.raises(JournalFullError):
        await bus.journal.require_room("t1")
    await bus.journal.append(event(Note(text="how it ended")))
    kept = await bus.journal.read_all("t1")
    assert kept[0].position == first
    assert kept[-1].event.text == "how it ended"
    assert len(kept) == MOST + 1


async def test_events_that_are_appended_together_are_kept_in_order_up_to_the_one_that_has_no_room(bus):
    position = await bus.journal.append(CALL, event(Note(text="behind it"), "r1"))
    assert [e.event.kind for e in await bus.journal.read_all("t1")] == ["tool_call", "note"]
    assert (await bus.journal.read_all("t1"))[-1].position == position
    for _ in range(MOST - 3):
        await bus.journal.append(CALL)
    with pytest.raises(JournalFullError):
        await bus.journal.append(event(Note(text="the last one"), "r1"), CALL)
    assert (await bus.journal.read_all("t1"))[-1].event.text == "the last one"
