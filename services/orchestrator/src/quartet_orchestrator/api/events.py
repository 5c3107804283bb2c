"""A task's journal as server-sent events."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from quartet_bus import Bus, is_end
from quartet_contracts import TERMINAL, JournalEvent

KEEP_ALIVE_S = 10.0


async def event_stream(bus: Bus, task_id: str, after: str, stop: asyncio.Event) -> AsyncGenerator[str]:
    """Events behind position `after`, then new ones, until the task has ended."""
    yield ": quartet journal\n\n"
    async with contextlib.aclosing(bus.journal.follow(task_id, after)) as events:
        pending: asyncio.Task[JournalEvent] | None = None
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                pending = pending or asyncio.create_task(anext(events))
                await asyncio.wait({pending, stopping}, timeout=KEEP_ALIVE_S, return_when=asyncio.FIRST_COMPLETED)
                if not pending.done():
                    if await _is_over(bus, task_id):
                        return
                    yield ": alive\n\n"
                    continue
                done, pending = pending, None
                try:
                    event = done.result()
                except StopAsyncIteration:
                    return
                yield sse(event)
                if is_end(event):
                    return
        finally:
            for task in (pending, stopping):
                if task is not None:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)


async def past_events(bus: Bus, task_id: str, after: str) -> AsyncGenerator[str]:
    """What there is behind `after`."""
    while batch := await bus.journal.read(task_id, after):
        after = batch[-1].position
        for event in batch:
            yield sse(event)


def sse(event: JournalEvent) -> str:
    return f"id: {event.position}\nevent: {event.event.kind}\ndata: {event.model_dump_json()}\n\n"


async def _is_over(bus: Bus, task_id: str) -> bool:
    """Whether nothing more will come, also when the journal's last event was never written."""
    status = await bus.statuses.get(task_id)
    return status is None or status.state in TERMINAL
