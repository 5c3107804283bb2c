"""Follows a task for an MCP client, with a line of progress for each step."""

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
from quartet_contracts.story import Narration, Narrator
from quartet_orchestrator.api.events import listen

LOOK_EVERY_S = 0.5
"""Period in which a silent task is checked for a question or its end."""
STEPS = (SkillRequested, SkillFinished, SkillSettled, TakenOver, Asked, Answered, Note, StateChanged)
"""Events that make a line of progress. Calls of tools do not: they are too many for a client that only waits."""
STILL_S = 15.0
"""Time without a step after which the current action is sent: many clients give up a call without progress."""


async def follow(
    bus: Bus, task_id: str, wait_s: float, tell: Callable[[str], Awaitable[None]], stop: asyncio.Event
) -> None:
    """Return when the task has ended or asks a person something, after `wait_s`, or when `stop` is set.

    `tell` receives the task's steps from now on, a line for each, and during a long step the current action.
    """
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + wait_s
    narrator = Narrator()
    old = await _skip_to_end(bus, task_id, narrator)
    doing, told_at = "", loop.time()

    def left() -> float:
        return ends_at - loop.time()

    listening = listen(bus, task_id, old, stop, lambda: min(left(), LOOK_EVERY_S))
    async with contextlib.aclosing(listening) as events:
        async for event in events:
            if event is not None:
                told = narrator.tell(event)
                doing = f"{told.now.actor}: {told.now.text}" if told.now is not None else doing
                for line in _lines(told) if isinstance(event.event, STEPS) else ():
                    told_at = loop.time()
                    await tell(line)
            elif await _waits_or_ended(bus, task_id):
                return
            if doing and loop.time() - told_at >= STILL_S:
                told_at = loop.time()
                await tell(doing)
            if left() <= 0:
                return


async def _skip_to_end(bus: Bus, task_id: str, narrator: Narrator) -> str:
    """Return the position where the journal ends now; the narrator has read it up to there."""
    position = START
    while batch := await bus.journal.read(task_id, position):
        position = batch[-1].position
        for event in batch:
            narrator.tell(event)
    return position


async def _waits_or_ended(bus: Bus, task_id: str) -> bool:
    status = await bus.statuses.get(task_id)
    return status is None or status.state in TERMINAL or await bus.questions.current(task_id) is not None


def _lines(told: Narration) -> list[str]:
    """Return plain lines; each begins with the actor."""
    return [f"{line.actor}: {''.join(span.text for span in line.spans)}" for line in told.lines]
