"""Record of a task: journal events and status, written in the order that readers rely on."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence

from quartet_bus import Bus, LeaseEpoch, is_end, taken_at
from quartet_contracts import JournalEvent, State, Task, TaskCode, TaskReport, TaskStatus, Usage, move
from quartet_contracts.journal import Asked, Happening, Reported, StateChanged, TakenOver, TeamTurn, ToolReturned
from quartet_process import boot_time

log = logging.getLogger(__name__)

MAX_SUMMARY = 4000
"""Length of a report's summary in characters, as its contract has it."""
MAX_QUESTION = 300
"""Length of a question in a report, in characters, above which it is cut."""


class OwnedJournal:
    """Journal of a task, writable only for the replica that owns the task."""

    def __init__(self, bus: Bus, lease_epoch: LeaseEpoch | None, written: Callable[[JournalEvent], None]) -> None:
        """`written` is called with each event that was appended."""
        self._bus = bus
        self._lease_epoch = lease_epoch
        self._written = written
        self.calls = 0
        """The orchestrator's own tool calls in the journal, those of its code and refused ones included."""
        self.turns = 0
        """Turns of a team's participants in the journal."""

    async def append(self, *events: JournalEvent) -> str:
        """Append durably; return the last position. Raises LeaseLostError when another replica owns the task."""
        position = await self._bus.journal.append(*events, lease_epoch=self._lease_epoch)
        for event in events:
            self.note(event)
            self._written(event)
        return position

    def note(self, event: JournalEvent) -> None:
        """Count `event`, which this process or another one has appended."""
        self.calls += event.actor == "orchestrator" and isinstance(event.event, ToolReturned)
        self.turns += isinstance(event.event, TeamTurn)


class TaskRecord:
    """State, journal and status of one task, as its run writes them.

    The task's time is counted by boot_time(), and from one process to the next by Redis' clock: a wall clock that is
    set, or that differs from another one, ends no task and prolongs none. The deadline in its status is for people.
    """

    def __init__(
        self,
        bus: Bus,
        status: TaskStatus,
        lease_epoch: LeaseEpoch | None = None,
        written: Callable[[JournalEvent], None] = lambda _event: None,
    ) -> None:
        """`written` is called with each event that this process appends to the journal."""
        self._bus = bus
        self.status = status
        self.lease_epoch = lease_epoch
        """Ownership of the task by this replica: writes raise LeaseLostError once another replica owns it."""
        self.journal = OwnedJournal(bus, lease_epoch, written)
        self.usage = status.usage
        self.unanswered: dict[str, str] = {}
        """Questions that nobody answered in time, by id."""
        self._changed = asyncio.Event()
        self._left_s = status.task.deadline - status.updated_at
        """Time for work that was left when the state was written last [s]; who wrote it had one clock for both."""
        self._since = boot_time()
        """When the state was written last."""
        self._redis_ahead_s = 0.0
        """Redis' clock less boot_time(), as a takeover has found it."""

    @property
    def left_s(self) -> float:
        """Time that is left for the task's work [s], which stands still in PAUSED; negative when it is over."""
        return self._left_s - (0.0 if self.state is State.PAUSED else boot_time() - self._since)

    @property
    def redis_time(self) -> float:
        """Redis' clock [s since the epoch], valid after `take_over`."""
        return boot_time() + self._redis_ahead_s

    def age_s(self, event: JournalEvent) -> float:
        """Return how long ago a former process has written an event [s], valid after `take_over`."""
        return max(0.0, self.redis_time - taken_at(event))

    @property
    def task(self) -> Task:
        """The task, with the end of its time as it is now."""
        return self.status.task

    @property
    def state(self) -> State:
        """State that was written last."""
        return self.status.state

    async def write(self, event: Happening) -> JournalEvent:
        """Append an event to the journal, durably; return it with its position."""
        written = JournalEvent(task_id=self.task.task_id, actor="orchestrator", at=time.time(), event=event)
        return written.model_copy(update={"position": await self.journal.append(written)})

    async def write_turn(self, turn: TeamTurn, prompt: str) -> None:
        """Keep the prompt that a participant was given, then append what it said to the journal."""
        loop_id = f"turn-{self.journal.turns + 1:03}-{turn.participant}"
        transcript = {
            "actor": turn.participant,
            "loop_id": loop_id,
            "usage": turn.usage.model_dump(),
            "ending": "",
            "messages": [{"role": "user", "content": prompt}, {"role": "assistant", "content": turn.text}],
        }
        await self._bus.transcripts.save(self.task.task_id, loop_id, transcript)
        await self.write(turn)

    def add_usage(self, usage: Usage) -> None:
        """Add what a sub-agent, a participant or another task used to the task's total."""
        self.usage = self.usage.plus(usage)

    def add_own_usage(self, usage: Usage) -> None:
        """Add what the orchestrator's loop used. Its tool calls are counted in the journal."""
        self.add_usage(usage.model_copy(update={"tool_calls": 0}))

    async def move(self, state: State, reason: str = "", asked: Asked | None = None) -> bool:
        """Write a state that is not terminal to status and journal; return False when the task has ended elsewhere.

        Raises IllegalTransitionError for a transition that the state machine does not have.
        """
        self._change(state, asked=asked)
        if not await self._bus.statuses.put(self.status, lease_epoch=self.lease_epoch):
            return False
        await self.write(StateChanged(state=state, reason=reason))
        return True

    async def restore_status(self) -> None:
        """Write the status as it is."""
        await self._bus.statuses.put(self.status, lease_epoch=self.lease_epoch)

    async def end(self, state: State, report: TaskReport) -> bool:
        """Write the report, then the terminal state; return False when the task had ended otherwise.

        The report also says which questions nobody answered.
        """
        told = "".join(f" Nobody answered the question: {text[:MAX_QUESTION]}" for text in self.unanswered.values())
        if told:
            # What the model says at length is cut, and not what it does not know.
            told = told[: MAX_SUMMARY // 2]
            summary = report.summary[: MAX_SUMMARY - len(told)] + told
            report = report.model_copy(update={"summary": summary})
        report = report.model_copy(update={"error_code": code_of_task(state, report)})
        self._change(state, report=report)
        await self.write(Reported(report=report))
        if not await self._bus.statuses.put(self.status, lease_epoch=self.lease_epoch):
            return False
        await self.write(StateChanged(state=state, reason=report.summary))
        log.info("task %s: %s %s", self.task.task_id, state, report.summary)
        return True

    async def tell_end(self, state: State, report: TaskReport) -> None:
        """Write the journal's last two events, for a terminal state that is in the status already."""
        await self.write(Reported(report=report))
        await self.write(StateChanged(state=state, reason=report.summary))

    async def take_over(self, events: Sequence[JournalEvent]) -> None:
        """Write that this replica goes on with the task whose journal has these `events`.

        The time since the last of them, in which nobody worked, is none of the task's.
        """
        assert self.lease_epoch is not None
        for event in events:
            self.journal.note(event)
        own = [event for event in events if event.request_id is None]
        marks = [event for event in own if isinstance(event.event, StateChanged | TakenOver)]
        states = [event.event.state for event in own if isinstance(event.event, StateChanged)]
        # Without the event of the status' state, whoever wrote the status died right after it.
        known = bool(states) and states[-1] is self.state
        if self.state is not State.PAUSED:
            self._left_s -= max(0.0, taken_at(events[-1]) - taken_at(marks[-1])) if known else 0.0
            self._since, now = boot_time(), time.time()
            task = self.task.model_copy(update={"deadline": now + self._left_s})
            self.status = self.status.model_copy(update={"task": task, "updated_at": now})
            await self.restore_status()
        written = await self.write(TakenOver(replica=self._bus.replica, epoch=self.lease_epoch.epoch))
        self._redis_ahead_s = taken_at(written) - boot_time()
        if self.state is State.PAUSED and not known:
            # No other state follows soon, from which a reader of the journal could tell.
            await self.write(StateChanged(state=State.PAUSED, reason="was paused when the last process ended"))
        elif self.state is State.PAUSED:
            paused = next(event for event in reversed(marks) if isinstance(event.event, StateChanged))
            self._since = boot_time() - max(0.0, taken_at(written) - taken_at(paused))

    async def wait_while_paused(self) -> None:
        """Return at once, or, when a person has paused the task, after a person has let it go on."""
        task_id = self.task.task_id
        reason = await self._bus.tasks.pause_reason(task_id)
        if reason is None and self.state is not State.PAUSED:
            return
        if self.state is not State.PAUSED:
            await self.move(State.PAUSED, reason or "")
        await self._bus.tasks.resumed(task_id)
        await self.move(State.INITIALIZING, "a person let the task go on")
        await self.move(State.RUNNING)

    async def out_of_time(self, pause_limit_s: float) -> str:
        """Wait until the task's time is over and return the reason; the time in PAUSED is not part of it."""
        while True:
            paused = self.state is State.PAUSED
            left = pause_limit_s - (boot_time() - self._since) if paused else self.left_s
            if left <= 0 and paused:
                return f"nobody let the task go on within {pause_limit_s:.0f} s"
            if left <= 0:
                return f"the task was not done within its {self.task.timeout_s:.0f} s of work"
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed.wait()

    def _change(self, state: State, report: TaskReport | None = None, asked: Asked | None = None) -> None:
        now, task = time.time(), self.task
        left_s = task.timeout_s if self.state is State.QUEUED else self.left_s
        self._left_s, self._since = left_s, boot_time()
        # Both by one clock: a replica that takes the task over reads from them what was left.
        task = task.model_copy(update={"deadline": now + left_s})
        update = {
            "task": task,
            "state": move(self.state, state, f"task {self.task.task_id}"),
            "report": report,
            "question": asked.text if asked else None,
            "choices": asked.choices if asked else [],
            "usage": self.usage.plus(Usage(tool_calls=self.journal.calls)),
            "updated_at": now,
        }
        self.status = self.status.model_copy(update=update)
        self._changed.set()


def code_of_task(state: State, report: TaskReport) -> TaskCode:
    """Return the code of a task that ends in `state`; of the report, only what the state leaves open counts."""
    if state is State.SUCCEEDED:
        return TaskCode.NONE
    if state is State.CANCELED:
        return TaskCode.CANCELED
    return TaskCode.UNKNOWN if report.error_code in {TaskCode.NONE, TaskCode.CANCELED} else report.error_code


async def close_journal(bus: Bus, status: TaskStatus) -> None:
    """Append the terminal state to the journal of an ended task if it is missing: the writer may have died before."""
    events = await bus.journal.read_all(status.task.task_id)
    if not any(is_end(event) for event in events):
        summary = status.report.summary if status.report else ""
        await TaskRecord(bus, status).write(StateChanged(state=status.state, reason=summary))


async def end_unstarted(bus: Bus, status: TaskStatus) -> bool:
    """End a task that waits in a queue and was canceled or is overdue; return whether it has ended."""
    reason = await bus.tasks.cancellation(status.task.task_id)
    if reason is not None:
        state, reason = State.CANCELED, f"{reason}. It had not been begun."
    elif await bus.tasks.is_overdue(status.task.task_id):
        state, reason = State.FAILED, "The task's time was over before the robot was free. Nothing was done."
    else:
        return False
    report = TaskReport(success=False, summary=reason)
    report = report.model_copy(update={"error_code": code_of_task(state, report)})
    ended = status.model_copy(update={"state": state, "report": report, "updated_at": time.time()})
    if await bus.statuses.put(ended, expected=State.QUEUED):
        await TaskRecord(bus, status).tell_end(state, report)
        return True
    return False
