"""The task's own record: journal events and status, written in the order that readers rely on."""

import logging
import time

from quartet_bus import Bus, Tenure, is_end
from quartet_contracts import JournalEvent, State, Task, TaskReport, TaskStatus, Usage, move
from quartet_contracts.journal import Happening, Reported, StateChanged

log = logging.getLogger(__name__)


class OwnedJournal:
    """The journal, for whoever owns the task."""

    def __init__(self, bus: Bus, tenure: Tenure | None) -> None:
        self._bus = bus
        self._tenure = tenure

    async def append(self, event: JournalEvent) -> str:
        """Durable when it returns. Raises LeaseLost when another replica owns the task."""
        return await self._bus.journal.append(event, self._tenure)


class TaskRecord:
    """State, journal and status of one task, as its runner writes them."""

    def __init__(self, bus: Bus, status: TaskStatus, tenure: Tenure | None = None) -> None:
        self._bus = bus
        self.status = status
        self.tenure = tenure
        """Of the replica that runs the task: its writes raise LeaseLost once another replica does."""
        self.journal = OwnedJournal(bus, tenure)
        self.usage = status.usage

    @property
    def task(self) -> Task:
        return self.status.task

    @property
    def state(self) -> State:
        return self.status.state

    async def write(self, event: Happening) -> None:
        """Append to the journal; durable when it returns."""
        task_id = self.task.task_id
        await self.journal.append(JournalEvent(task_id=task_id, actor="orchestrator", at=time.time(), event=event))

    def add_usage(self, usage: Usage) -> None:
        self.usage = self.usage.plus(usage)

    async def move(self, state: State, reason: str = "", question: str | None = None) -> bool:
        """Status and journal of a state that is not terminal; False when the task has ended elsewhere.

        Raises IllegalMove for a move that does not exist.
        """
        self._change(state, question=question)
        if not await self._bus.statuses.put(self.status, tenure=self.tenure):
            return False
        await self.write(StateChanged(state=state, reason=reason))
        return True

    async def end(self, state: State, report: TaskReport) -> bool:
        """Report, then the terminal state; False when the task had ended otherwise."""
        self._change(state, report=report)
        await self.write(Reported(report=report))
        if not await self._bus.statuses.put(self.status, tenure=self.tenure):
            return False
        await self.write(StateChanged(state=state, reason=report.summary))
        log.info("task %s: %s %s", self.task.task_id, state, report.summary)
        return True

    async def tell_end(self, state: State, report: TaskReport) -> None:
        """The journal's last two events, for a terminal state that is in the status already."""
        await self.write(Reported(report=report))
        await self.write(StateChanged(state=state, reason=report.summary))

    def _change(self, state: State, report: TaskReport | None = None, question: str | None = None) -> None:
        update = {
            "state": move(self.state, state, f"task {self.task.task_id}"),
            "report": report,
            "question": question,
            "usage": self.usage,
            "updated_at": time.time(),
        }
        self.status = self.status.model_copy(update=update)


async def close_journal(bus: Bus, status: TaskStatus) -> None:
    """Make sure that the journal of an ended task says so: its writer may have died in between."""
    events = await bus.journal.read_all(status.task.task_id)
    if not any(is_end(event) for event in events):
        summary = status.report.summary if status.report else ""
        await TaskRecord(bus, status).write(StateChanged(state=status.state, reason=summary))
