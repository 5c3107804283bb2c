"""Waiting for a task while its story is told."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from quartet_bus import Bus
from quartet_bus.journal import START
from quartet_contracts import TERMINAL
from quartet_contracts.journal import (
    Answered,
    Asked,
    Note,
    SkillFinished,
    SkillRequested,
    SkillSettled,
    StateChanged,
    TakenOver,
)
from quartet_contracts.story import Narrator, Told
from quartet_orchestrator.listening import listen

LOOK_EVERY_S = 0.5
"""How often a silent task is looked at: whether it asks something, or has ended without a word."""
STEPS = (SkillRequested, SkillFinished, SkillSettled, TakenOver, Asked, Answered, Note, StateChanged)
"""What is told of a task. Its story has a line for each call of a tool, which nobody who only waits can use."""
STILL_S = 15.0
"""After so long without a step it is told what is being done now: many clients give up a call that says nothing."""


async def follow(
    bus: Bus, task_id: str, wait_s: float, tell: Callable[[str], Awaitable[None]], stop: asyncio.Event
) -> None:
    """Returns when the task has ended or asks a person something, after `wait_s`, or when `stop` is set.

    `tell` gets the task's steps from now on, a line at a time, and in a long one what is being done.
    """
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + wait_s
    narrator = Narrator()
    old = await _last(bus, task_id, narrator)
    doing, told_at = "", loop.time()

    def left() -> float:
        return ends_at - loop.time()

    listening = listen(bus, task_id, old, stop, lambda: min(left(), LOOK_EVERY_S))
    async with contextlib.aclosing(listening) as heard:
        async for event in heard:
            if event is not None:
                told = narrator.tell(event)
                doing = f"{told.now.actor}: {told.now.text}" if told.now is not None else doing
                for line in _lines(told) if isinstance(event.event, STEPS) else ():
                    told_at = loop.time()
                    await tell(line)
            elif await _rests(bus, task_id):
                return
            if doing and loop.time() - told_at >= STILL_S:
                told_at = loop.time()
                await tell(doing)
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
    return [f"{line.actor}: {''.join(span.text for span in line.spans)}" for line in told.lines]
