"""Listening to the journal of a task, which may be silent for long."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable

from quartet_bus import Bus, is_end
from quartet_contracts import JournalEvent


async def listen(
    bus: Bus, task_id: str, after: str, stop: asyncio.Event, silence_s: Callable[[], float]
) -> AsyncGenerator[JournalEvent | None]:
    """Events behind position `after`, then new ones, until the one that ends the task has come or `stop` is set.

    None where none has come for `silence_s()`, so that who listens can look whether the task has ended without a word.
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
