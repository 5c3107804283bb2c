"""What ends a task from outside: a cancel, a stop, its deadline, a lost store, a shutdown, another replica."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Self

from quartet_bus import Bus, TaskDelivery
from quartet_contracts import State, may_transition
from quartet_contracts.journal import Note
from quartet_orchestrator.recovery import TaskRecord

FORGOTTEN = (
    "Redis has lost its data and with it this task while it ran: nobody could cancel it or take it over, so its work "
    "was ended. Look at the robot, and give the task again"
)
SHUT_DOWN = "the orchestrator was shut down; another one goes on from here"


class Interruptions:
    """Waits for them while a task is worked on. An asynchronous context manager.

    Args:
        bus: that tells of a cancel.
        delivery: of the task; it tells when another replica has it, or the store has lost it.
        record: of the task.
        shutdown: of this process.
        pause_limit_s: longest time in PAUSED [s].
        halted: ends with the reason when the robot was stopped; None where a stop does not end the task.
    """

    def __init__(
        self,
        bus: Bus,
        delivery: TaskDelivery,
        record: TaskRecord,
        shutdown: asyncio.Event,
        pause_limit_s: float,
        halted: Coroutine[Any, Any, str] | None = None,
    ) -> None:
        self._delivery, self._record = delivery, record
        self._canceled = asyncio.create_task(bus.tasks.canceled(record.task.task_id))
        self._lost = asyncio.create_task(delivery.lost.wait())
        self._shutdown = asyncio.create_task(shutdown.wait())
        self._overdue = asyncio.create_task(record.out_of_time(pause_limit_s))
        self._halted = None if halted is None else asyncio.create_task(halted)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for watcher in self._watchers:
            watcher.cancel()
        await asyncio.gather(*self._watchers, return_exceptions=True)

    async def wait(self, work: "asyncio.Task[Any]") -> None:
        """Wait until `work` has ended or something interrupts it."""
        await asyncio.wait({work, *self._watchers}, return_when=asyncio.FIRST_COMPLETED)

    @property
    def taken_over(self) -> bool:
        """Whether another replica has the task, so that this one writes nothing more."""
        return self._lost.done() and not self._delivery.forgotten

    @property
    def shut_down(self) -> bool:
        """Whether this process ends, and nothing else ends the task."""
        others = [self._canceled, self._overdue, *([] if self._halted is None else [self._halted])]
        return self._shutdown.done() and not any(one.done() for one in others)

    @property
    def stopped(self) -> bool:
        """Whether a stop of the robot ends the task."""
        return self._halted is not None and self._halted.done() and not self._canceled.done()

    async def note(self) -> tuple[str, State]:
        """Write down what ends the task; return the reason and the state in which it ends."""
        if self._delivery.forgotten:
            # Known again at once, before the robot rests.
            await self._record.restore_status()
            reason = FORGOTTEN
        elif self._canceled.done():
            reason = self._canceled.result()
            if may_transition(self._record.state, State.CANCELING) and self._record.state is not State.CANCELING:
                await self._record.move(State.CANCELING, reason)
            return reason, State.CANCELED
        elif self._halted is not None and self._halted.done():
            reason = self._halted.result()
        else:
            reason = self._overdue.result()
        await self._record.write(Note(text=reason))
        return reason, State.FAILED

    @property
    def _watchers(self) -> "list[asyncio.Task[Any]]":
        watchers: list[asyncio.Task[Any]] = [self._canceled, self._lost, self._shutdown, self._overdue]
        return watchers if self._halted is None else [*watchers, self._halted]
