"""The task stream of one robot, and one replica at a time that serves it."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from quartet_bus import _scripts
from quartet_bus._keys import Keys
from quartet_bus._queue import FIELD, Delivery, Queue
from quartet_bus._shared_tasks import SharedTasks
from quartet_bus._store import Patience, Store
from quartet_bus.dead_letters import DeadLetters
from quartet_bus.errors import BusUnavailable, LeaseLost
from quartet_bus.journal import Journal
from quartet_bus.options import BusOptions
from quartet_bus.signals import Signals
from quartet_bus.statuses import Statuses
from quartet_bus.tenure import Tenure
from quartet_contracts import (
    ANY_ROBOT,
    ContractError,
    JournalEvent,
    MalformedMessage,
    State,
    Task,
    TaskReport,
    TaskStatus,
    decode,
)
from quartet_contracts.journal import Reported, StateChanged

log = logging.getLogger(__name__)
GROUP = "orchestrator"


class TaskDelivery(Delivery[Task]):
    """A task taken from the stream. When it was `started` before, motions may have happened."""

    @property
    def task(self) -> Task:
        return self.message


class RobotTasks(Queue[Task]):
    """The queue of one robot as one orchestrator replica sees it."""

    kind = "task"

    def __init__(
        self,
        store: Store,
        keys: Keys,
        options: BusOptions,
        dead: DeadLetters,
        signals: Signals,
        statuses: Statuses,
        journal: Journal,
        robot: str,
        consumer: str,
    ) -> None:
        super().__init__(store, keys, options, dead, keys.task_stream(robot), GROUP, consumer)
        self.robot = robot
        self._signals = signals
        self._statuses = statuses
        self._journal = journal
        self._shared = SharedTasks(store, keys, statuses)
        self._may_share: Callable[[], Awaitable[bool]] | None = None
        self._holder: asyncio.Task[None] | None = None
        self._owned = False
        self._patience = Patience(f"tasks of {robot}")

    @property
    def owned(self) -> bool:
        """Whether this replica is the one that serves the robot."""
        return self._owned

    async def take(self, may_share: Callable[[], Awaitable[bool]] | None = None) -> TaskDelivery:
        """The next task of this robot; waits while another replica serves the robot. Outlives a restart of Redis.

        With `may_share` also a task that names no robot, the oldest first: it is asked, when there is such a task,
        whether this robot could do one now.
        """
        self._may_share = may_share
        if self._holder is None:
            self._holder = asyncio.create_task(self._hold_robot(), name=f"bus-robot-{self.robot}")
        async with self._signals.listen(f"tasks:{self.robot}", f"tasks:{ANY_ROBOT}") as bell:
            while True:
                disposed = self._disposed
                try:
                    delivery = await self._take_once() if await self._claim_robot() else None
                    self._patience.worked()
                    if delivery is not None:
                        return delivery
                except BusUnavailable as error:
                    await self._patience.failed(error)
                    continue
                if disposed != self._disposed:
                    # Behind an entry that nobody could read, a task may wait.
                    continue
                await bell.wait(min(2.0, self._options.lease_s / 3))

    async def _take_once(self) -> TaskDelivery | None:
        admitted = await self._next(None)
        if admitted is None:
            return None
        self._hold(admitted.lease)
        return TaskDelivery(admitted.message, admitted.redelivered, admitted.started, admitted.lease)

    async def working_on(self) -> Task | None:
        """The task that some replica has begun or is about to, for this robot."""
        rows = await self._store.script(_scripts.OLDEST_HELD, [self._stream], self._group)
        try:
            return decode(Task, dict(zip(rows[::2], rows[1::2], strict=True))[FIELD]) if rows else None
        except (ContractError, KeyError):
            return None

    async def mark_started(self, delivery: TaskDelivery) -> Tenure:
        """Become the owner, durably, before the first effect. Raises LeaseLost when another replica has the task now.

        What a former owner still writes with its tenure is refused from here on.
        """
        task, lease = delivery.task, delivery.lease
        expiry = self._expiry_ms(task.deadline)
        keys = [
            self._stream,
            self._keys.started(self.kind, task.task_id),
            self._keys.done(self.kind, task.task_id),
            self._keys.epoch(task.task_id),
        ]
        kept = expiry + round(self._options.records_s * 1000)
        epoch = await self._store.script(_scripts.OWN, keys, self._group, self._consumer, lease.entry_id, expiry, kept)
        if not epoch:
            lease.lost.set()
            self._let_go(lease)
            raise LeaseLost(f"task '{task.task_id}' was taken over by another replica; do not act on it")
        return Tenure(task.task_id, int(epoch))

    async def progressed(self, delivery: TaskDelivery) -> None:
        """Count deliveries from here again: only a task that gets nowhere, delivery after delivery, is poison."""
        await self._count_anew(delivery.lease.entry_id)

    async def hand_over(self, delivery: TaskDelivery) -> None:
        """Give a running task back, so that another replica takes it over at once and not after the lease."""
        self._let_go(delivery.lease)
        idle_ms = round(self._options.lease_s * 2000)
        await self._store.script(
            _scripts.HAND_OVER, [self._stream], self._group, self._consumer, delivery.lease.entry_id, idle_ms
        )
        await self._release_robot()
        await self._signals.send(f"tasks:{self.robot}")

    async def finish(self, delivery: TaskDelivery) -> None:
        """Take the task off the stream; its end is already in the status and the journal."""
        await self._complete(delivery.lease, b"done", "")

    def release(self, delivery: TaskDelivery) -> None:
        """Give a task back that cannot be ended here: after the lease it is delivered again, or buried by the cap."""
        self._let_go(delivery.lease)

    async def waiting(self) -> int:
        """Tasks on the stream, running ones included."""
        return int(await self._store.call("XLEN", self._stream))

    async def close(self) -> None:
        await super().close()
        if self._holder is not None:
            self._holder.cancel()
            await asyncio.gather(self._holder, return_exceptions=True)
            self._holder = None
        if self._owned and not self._held:
            try:
                await self._release_robot()
            except BusUnavailable as error:
                log.debug("lease of robot %s not released: %s", self.robot, error)

    async def _release_robot(self) -> None:
        self._owned = False
        await self._store.script(_scripts.RELEASE, [self._keys.robot_lease(self.robot)], self._consumer)

    async def _may_read(self) -> bool:
        """A robot works for one task: nothing new is begun while another replica has one of this robot's."""
        holder = await self._store.script(_scripts.OLDEST_HOLDER, [self._stream], self._group)
        if holder is None and self._may_share is not None and await self._shared.waiting() and await self._may_share():
            await self._shared.assign(self.robot, self._group)
        return holder is None or holder.decode() == self._consumer

    async def _claim_robot(self) -> bool:
        lease_ms = round(self._options.lease_s * 1000)
        key = self._keys.robot_lease(self.robot)
        self._owned = bool(await self._store.script(_scripts.HOLD, [key], self._consumer, lease_ms))
        return self._owned

    async def _hold_robot(self) -> None:
        while True:
            await asyncio.sleep(self._options.lease_s / 3)
            if self._owned:
                try:
                    await self._claim_robot()
                except BusUnavailable as error:
                    log.debug("lease of robot %s not renewed: %s", self.robot, error)

    def _decode(self, data: bytes) -> Task:
        task = decode(Task, data)
        if task.robot != self.robot:
            raise MalformedMessage(f"the task is for robot '{task.robot}', this is the stream of '{self.robot}'")
        return task

    def _identity(self, message: Task) -> tuple[str, float]:
        return message.task_id, message.deadline

    async def _repeat(self, entry_id: str, message: Task, done: bytes | None) -> None:
        log.info("duplicate of task %s", message.task_id)
        await self._store.transaction(("XACK", self._stream, self._group, entry_id), ("XDEL", self._stream, entry_id))

    async def _bury(self, entry_id: str, data: bytes, reason: str, message: Task | None, started: bool) -> None:
        log.error("dead letter on %s, entry %s: %s", self._stream, entry_id, reason)
        if message is not None:
            await self._fail(message, reason)
        await self._store.transaction(
            self._dead.command(self._stream, entry_id, reason, data),
            ("XACK", self._stream, self._group, entry_id),
            ("XDEL", self._stream, entry_id),
        )

    async def _fail(self, task: Task, reason: str) -> None:
        report = TaskReport(success=False, summary=f"The task was given up: {reason}")
        try:
            status = await self._statuses.get(task.task_id)
        except ContractError:
            # What cannot be read must not keep the task from its end.
            log.exception("status of task %s is replaced", task.task_id)
            status = None
        if status is None:
            status = TaskStatus(task=task, state=State.QUEUED, updated_at=time.time())
        changed = status.model_copy(update={"state": State.FAILED, "report": report, "updated_at": time.time()})
        try:
            if await self._statuses.put(changed):
                await self._close_journal(task.task_id, report)
        except ContractError:
            log.exception("status of task %s not written", task.task_id)

    async def _close_journal(self, task_id: str, report: TaskReport) -> None:
        """Whoever follows the task learns how it ended."""
        for event in (Reported(report=report), StateChanged(state=State.FAILED, reason=report.summary)):
            await self._journal.append(JournalEvent(task_id=task_id, actor="orchestrator", at=time.time(), event=event))
