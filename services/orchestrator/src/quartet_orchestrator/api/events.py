"""Journal of a task while it grows, and as server-sent events."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Callable

from quartet_bus import Bus, is_end
from quartet_bus.journal import START
from quartet_contracts import TERMINAL, JournalEvent
from quartet_contracts.story import Narrator

KEEP_ALIVE_S = 10.0
"""Period of comments that keep a silent stream open."""


async def listen(
    bus: Bus, task_id: str, after: str, stop: asyncio.Event, silence_s: Callable[[], float]
) -> AsyncGenerator[JournalEvent | None]:
    """Yield events behind position `after`, then new ones, until the task's last event or until `stop` is set.

    Yields None when none has come for `silence_s()`, so that the caller can look whether the task has ended.
    """
    async with contextlib.aclosing(bus.journal.follow(task_id, after)) as events:
        pending: asyncio.Task[JournalEvent] | None = None
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                pending = pending or asyncio.create_task(anext(events))
                await asyncio.wait({pending, stopping}, timeout=silence_s(), return_when=asyncio.FIRST_COMPLETED)
                if not pending.done():
                    yield None
                    continue
                done, pending = pending, None
                try:
                    event = done.result()
                except StopAsyncIteration:
                    return
                yield event
                if is_end(event):
                    return
        finally:
            for task in (pending, stopping):
                if task is not None:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)


async def event_stream(
    bus: Bus, task_id: str, after: str, stop: asyncio.Event, narrator: Narrator | None = None
) -> AsyncGenerator[str]:
    """Yield events behind position `after`, then new ones, until the task has ended; with sentences of `narrator`."""
    yield ": quartet journal\n\n"
    async with contextlib.aclosing(listen(bus, task_id, after, stop, lambda: KEEP_ALIVE_S)) as events:
        async for event in events:
            if event is not None:
                yield sse(event, narrator)
            elif await _is_over(bus, task_id):
                return
            else:
                yield ": alive\n\n"


async def past_events(bus: Bus, task_id: str, after: str, narrator: Narrator | None = None) -> AsyncGenerator[str]:
    """Yield the events that are there behind position `after`."""
    while batch := await bus.journal.read(task_id, after):
        after = batch[-1].position
        for event in batch:
            yield sse(event, narrator)


async def narrator_behind(bus: Bus, task_id: str, after: str) -> Narrator:
    """Return a narrator that has read the journal up to position `after`."""
    narrator, position = Narrator(), START
    while _order(position) < _order(after) and (batch := await bus.journal.read(task_id, position)):
        position = batch[-1].position
        for event in batch:
            if _order(event.position) <= _order(after):
                narrator.tell(event)
    return narrator


def sse(event: JournalEvent, narrator: Narrator | None = None) -> str:
    """Return an event in the format of server-sent events; its id is the position in the journal."""
    data = event.model_dump_json()
    if narrator is not None:
        told = narrator.tell(event).model_dump(mode="json")
        data = json.dumps({**event.model_dump(mode="json"), "told": told}, ensure_ascii=False, separators=(",", ":"))
    return f"id: {event.position}\nevent: {event.event.kind}\ndata: {data}\n\n"


def _order(position: str) -> tuple[int, ...]:
    return tuple(int(part) for part in position.split("-"))


async def _is_over(bus: Bus, task_id: str) -> bool:
    """Return whether nothing more will come, also when the journal's last event was never written."""
    status = await bus.statuses.get(task_id)
    return status is None or status.state in TERMINAL
