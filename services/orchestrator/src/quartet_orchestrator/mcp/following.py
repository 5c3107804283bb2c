"""Waiting for a task while its story is told."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from quartet_bus import Bus, is_end
from quartet_bus.journal import START
from quartet_contracts import TERMINAL, JournalEvent
from quartet_contracts.story import Narrator, Told

LOOK_EVERY_S = 0.5
"""How often a silent task is looked at: whether it asks something, or has ended without a word."""


async def follow(
    bus: Bus, task_id: str, wait_s: float, tell: Callable[[str], Awaitable[None]], stop: asyncio.Event
) -> None:
    """Returns when the task has ended or asks a person something, after `wait_s`, or when `stop` is set.

    `tell` gets what the journal says from now on, a line at a time.
    """
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + wait_s
    narrator = Narrator()
    old = await _last(bus, task_id, narrator)
    pending: asyncio.Task[JournalEvent] | None = None
    stopping = asyncio.create_task(stop.wait())
    async with contextlib.aclosing(bus.journal.follow(task_id, old)) as events:
        try:
            while not stop.is_set() and (left := ends_at - loop.time()) > 0:
                pending = pending or asyncio.create_task(anext(events))
                await asyncio.wait(
                    {pending, stopping}, timeout=min(left, LOOK_EVERY_S), return_when=asyncio.FIRST_COMPLETED
                )
                if not pending.done():
                    if await _rests(bus, task_id):
                        return
                    continue
                done, pending = pending, None
                try:
                    event = done.result()
                except StopAsyncIteration:
                    return
                for line in _lines(narrator.tell(event)):
                    await tell(line)
                if is_end(event):
                    return
        finally:
            for task in (pending, stopping):
                if task is not None:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)


async def _last(bus: Bus, task_id: str, narrator: Narrator) -> str:
    """Where the journal ends now; the narrator has heard it up to there."""
    position = START
    while batch := await bus.journal.read(task_id, position):
        position = batch[-1].position
        for event in batch:
            narrator.tell(event)
    return position


async def _rests(bus: Bus, task_id: str) -> bool:
    status = await bus.statuses.get(task_id)
    return status is None or status.state in TERMINAL or await bus.questions.current(task_id) is not None


def _lines(told: Told) -> list[str]:
    """In plain text, who it is about first."""
    lines = [f"{line.actor}: {''.join(span.text for span in line.spans)}" for line in told.lines]
    if told.now is not None:
        lines.append(f"{told.now.actor}: {told.now.text}")
    return lines
