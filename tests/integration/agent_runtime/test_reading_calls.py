"""A call that only reads is made while it is being journaled; whatever acts waits for the journal."""

import asyncio

import pytest

from quartet_agent_runtime import LocalTool, LocalTools, Recorder, Toolbox, ToolOutcome, ToolSpec
from quartet_agent_runtime._model import ToolCall

NOTHING = {"type": "object"}
PATIENCE_S = 60.0


class SlowStore:
    """A store whose journal takes nothing before `open` is set; `order` notes what happened."""

    def __init__(self):
        self.order = []
        self.open = asyncio.Event()
        self.broken = False
        self.refused = asyncio.Event()

    async def append(self, *events):
        await self.open.wait()
        if self.broken:
            self.refused.set()
            raise ConnectionError("the store is away")
        self.order += [event.event.kind for event in events]

    async def put(self, task_id, data, media_type):
        return "image"

    async def save(self, task_id, loop_id, transcript):
        pass


@pytest.fixture
def store():
    return SlowStore()


@pytest.fixture
def recorder(store):
    return Recorder(actor="pick", task_id="t1", loop_id="r1", journal=store, images=store, transcripts=store)


def make_call(store, recorder, name, *, reads):
    async def make():
        store.order.append(name)
        return ToolOutcome({"ok": True})

    return recorder.record_call(ToolCall(name, name, {}), make, name, durable=False, reads=reads)


async def begin_in_vain(call):
    """Return the task of `call`, which the closed store keeps from being made."""
    running = asyncio.create_task(call)
    done, _ = await asyncio.wait({running}, timeout=0.2)
    assert not done
    return running


async def test_a_call_that_only_reads_does_not_wait_for_the_journal(store, recorder):
    await make_call(store, recorder, "look", reads=True)
    assert store.order == ["look"]
    store.open.set()
    await recorder.written()
    assert store.order == ["look", "tool_call", "tool_result"]


async def test_a_call_that_acts_waits_for_its_own_entry_and_all_before_it(store, recorder):
    await make_call(store, recorder, "look", reads=True)
    acting = await begin_in_vain(make_call(store, recorder, "drive", reads=False))
    assert store.order == ["look"]
    store.open.set()
    await acting
    await recorder.written()
    assert store.order == ["look", "tool_call", "tool_result", "tool_call", "drive", "tool_result"]


async def test_what_could_not_be_journaled_ends_also_who_only_reads(store, recorder):
    store.broken = True
    store.open.set()
    await make_call(store, recorder, "look", reads=True)
    await store.refused.wait()
    with pytest.raises(ConnectionError, match="the store is away"):
        await make_call(store, recorder, "look", reads=True)
    assert store.order == ["look"]


async def test_no_more_than_one_call_is_ahead_of_the_journal(store, recorder):
    await make_call(store, recorder, "look", reads=True)
    second = await begin_in_vain(make_call(store, recorder, "look again", reads=True))
    assert store.order == ["look"]
    store.open.set()
    await second
    assert store.order[:4] == ["look", "tool_call", "tool_result", "look again"]


async def test_progress_of_a_reading_call_stays_behind_its_entry(store, recorder):
    """And keeps nothing from whoever waits for the journal."""
    call = ToolCall("look", "look", {})

    async def make():
        await recorder.progress(call, 0.5, "looking")
        return ToolOutcome({"ok": True})

    await recorder.record_call(call, make, "look", durable=False, reads=True)
    acting = asyncio.create_task(make_call(store, recorder, "drive", reads=False))
    store.open.set()
    await acting
    await recorder.written()
    assert store.order == ["tool_call", "tool_progress", "tool_result", "tool_call", "drive", "tool_result"]


async def test_a_lost_entry_is_told_to_the_loop_though_progress_came_after_it(store, recorder):
    """The store was away for the entry alone: what followed it must not stand there without it."""
    call = ToolCall("look", "look", {})
    store.broken = True
    store.open.set()

    async def make():
        await store.refused.wait()
        store.broken = False
        await recorder.progress(call, 0.5, "looking")
        return ToolOutcome({"ok": True})

    await recorder.record_call(call, make, "look", durable=False, reads=True)
    with pytest.raises(ConnectionError, match="the store is away"):
        await make_call(store, recorder, "drive", reads=False)
    assert store.order == []
    await make_call(store, recorder, "halt", reads=False)
    assert store.order[:2] == ["tool_call", "halt"], "whoever has been told can bring the robot to rest"


async def test_progress_that_could_not_be_journaled_harms_nothing(store, recorder):
    call = ToolCall("look", "look", {})
    store.open.set()

    async def make():
        await recorder.written()
        store.broken = True
        await recorder.progress(call, 0.5, "looking")
        await store.refused.wait()
        store.broken = False
        return ToolOutcome({"ok": True})

    await recorder.record_call(call, make, "look", durable=False, reads=True)
    await make_call(store, recorder, "drive", reads=False)
    assert store.order[:4] == ["tool_call", "tool_result", "tool_call", "drive"]


async def test_what_was_begun_is_written_though_who_waited_for_it_was_canceled(store, recorder):
    acting = await begin_in_vain(make_call(store, recorder, "drive", reads=False))
    acting.cancel()
    await asyncio.gather(acting, return_exceptions=True)
    store.open.set()
    await recorder.written()
    assert store.order == ["tool_call"]


@pytest.mark.parametrize("reads", [True, False])
async def test_a_loop_reads_while_the_turn_that_wanted_it_is_written(model, memory, make_loop, talk, reads):
    """The turn and the call are written together, in front of or behind the call itself."""

    async def look(_arguments, _progress):
        memory.order.append("look")
        return ToolOutcome({"ok": True})

    model.script = [talk.calls(("arm__look", {})), talk.report(held_object_height_m=0.12)]
    await make_loop(LocalTools([LocalTool(ToolSpec("arm__look", "Looks.", NOTHING, reads=reads), look)])).run("s", "u")
    behind = memory.order.index("look") < memory.order.index("tool_call")
    assert behind == reads
    assert ["model_turn", "tool_call"] in memory.appends
    assert memory.kinds()[:3] == ["model_turn", "tool_call", "tool_result"]


async def test_what_a_server_says_only_reads_does_so_unless_something_surrounds_it(host):
    async def surround(arguments, tell, call):
        return await call(tell)

    async with Toolbox({"arm": host.url}, "g", ["arm__picture", "arm__add", "arm__fails"], PATIENCE_S) as tools:
        assert [spec.reads for spec in await tools.list()] == [True, False, False]
        tools.surround("arm__picture", surround)
        assert [spec.reads for spec in await tools.list()] == [False, False, False]
