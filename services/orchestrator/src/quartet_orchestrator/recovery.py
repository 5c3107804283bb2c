"""A task whose replica went away while it ran: settle the request that was open, then end it. Never move blindly.

What the dead replica's model had in mind is gone; a motion that had begun may or may not have happened. So nothing
is run again: the open request is brought to its end by the agent that has it, and the report says what was done.
"""

import asyncio
import logging
import time

from quartet_bus import Bus
from quartet_contracts import Skill, SkillResult, State, TaskReport, TaskStatus
from quartet_contracts.journal import SkillFinished, SkillRequested
from quartet_orchestrator.fencing import Fencer
from quartet_orchestrator.progress import TaskRecord
from quartet_orchestrator.skill_calls import finished

log = logging.getLogger(__name__)
POLL_S = 0.1


async def end_orphan(bus: Bus, fencer: Fencer, status: TaskStatus, wait_s: float) -> None:
    """End a task that another replica had started."""
    record = TaskRecord(bus, status)
    events = await bus.journal.read_all(status.task.task_id)
    ended = {e.event.request_id for e in events if isinstance(e.event, SkillFinished)}
    done = [f"{e.event.skill}" for e in events if isinstance(e.event, SkillFinished) and e.event.success]
    parts = ["The orchestrator that ran this task went away."]
    if done:
        parts.append(f"Steps that had succeeded: {', '.join(done)}.")
    for event in events:
        asked = event.event
        if isinstance(asked, SkillRequested) and asked.request_id not in ended:
            parts.append(await _settle(bus, fencer, record, asked, wait_s))
    reason = await bus.tasks.cancellation(status.task.task_id)
    state = State.FAILED
    if reason is not None and record.state in {State.RUNNING, State.CANCELING, State.PAUSED}:
        await record.move(State.CANCELING, reason)
        state = State.CANCELED
    await record.end(state, TaskReport(success=False, summary=" ".join(parts)[:4000]))


async def _settle(bus: Bus, fencer: Fencer, record: TaskRecord, asked: SkillRequested, wait_s: float) -> str:
    """Cancel an open request and wait for its end; in words for the report."""
    queue = bus.skills(Skill(asked.skill))
    await queue.cancel(asked.request_id)
    end = time.monotonic() + wait_s
    result: SkillResult | None = None
    while result is None and time.monotonic() < end:
        result = await queue.result(asked.request_id)
        if result is None and not await queue.was_taken(asked.request_id) and not await queue.alive():
            return f"{asked.skill} ({asked.request_id}) had not been begun."
        await asyncio.sleep(POLL_S)
    if result is None or result.state is State.UNCERTAIN:
        await fencer.take_back(record.task.robot, asked.request_id)
    if result is None:
        return f"How {asked.skill} ({asked.request_id}) ended is not known: look before you go on."
    await record.write(finished(result))
    found = " The journal has how the robot was found." if result.observed else ""
    return f"{asked.skill} ended with {result.error_code}: {result.reason.rstrip('.')}.{found}"
