"""Waiting for a task while its story is told."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from quartet_bus import Bus
from quartet_bus.journal import START
from quartet_contracts import TERMINAL
from quartet_contracts.story import Narrator, Told
from quartet_orchestrator.listening import listen

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

    def left() -> float:
        return ends_at - loop.time()

    listening = listen(bus, task_id, old, stop, lambda: min(left(), LOOK_EVERY_S))
    async with contextlib.aclosing(listening) as heard:
        async for event in heard:
            if event is not None:
                for line in _lines(narrator.tell(event)):
                    await tell(line)
            elif await _rests(bus, task_id):
                return
            if left() <= 0:
                return


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
