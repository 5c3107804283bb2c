"""A task's journal as server-sent events."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator

from quartet_bus import Bus
from quartet_bus.journal import START
from quartet_contracts import TERMINAL, JournalEvent
from quartet_contracts.story import Narrator
from quartet_orchestrator.listening import listen

KEEP_ALIVE_S = 10.0


async def event_stream(
    bus: Bus, task_id: str, after: str, stop: asyncio.Event, narrator: Narrator | None = None
) -> AsyncGenerator[str]:
    """Events behind position `after`, then new ones, until the task has ended; each told by the `narrator`, if any."""
    yield ": quartet journal\n\n"
    async with contextlib.aclosing(listen(bus, task_id, after, stop, lambda: KEEP_ALIVE_S)) as heard:
        async for event in heard:
            if event is not None:
                yield sse(event, narrator)
            elif await _is_over(bus, task_id):
                return
            else:
                yield ": alive\n\n"


async def past_events(bus: Bus, task_id: str, after: str, narrator: Narrator | None = None) -> AsyncGenerator[str]:
    """What there is behind `after`."""
    while batch := await bus.journal.read(task_id, after):
        after = batch[-1].position
        for event in batch:
            yield sse(event, narrator)


async def narrator_behind(bus: Bus, task_id: str, after: str) -> Narrator:
    """One that has heard the journal up to position `after`."""
    narrator, position = Narrator(), START
    while _order(position) < _order(after) and (batch := await bus.journal.read(task_id, position)):
        position = batch[-1].position
        for event in batch:
            if _order(event.position) <= _order(after):
                narrator.tell(event)
    return narrator


def sse(event: JournalEvent, narrator: Narrator | None = None) -> str:
    data = event.model_dump_json()
    if narrator is not None:
        told = narrator.tell(event).model_dump(mode="json")
        data = json.dumps({**event.model_dump(mode="json"), "told": told}, ensure_ascii=False, separators=(",", ":"))
    return f"id: {event.position}\nevent: {event.event.kind}\ndata: {data}\n\n"


def _order(position: str) -> tuple[int, ...]:
    return tuple(int(part) for part in position.split("-"))


async def _is_over(bus: Bus, task_id: str) -> bool:
    """Whether nothing more will come, also when the journal's last event was never written."""
    status = await bus.statuses.get(task_id)
    return status is None or status.state in TERMINAL
