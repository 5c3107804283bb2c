"""Task stream of one robot, served by one replica at a time."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from quartet_bus._dead_letters import DeadLetters
from quartet_bus._fencing import LeaseEpoch
from quartet_bus._keys import OWNER
from quartet_bus._part import BusContext
from quartet_bus._queue import FIELD, Delivery, Queue
from quartet_bus._shared_tasks import MayShare, SharedTasks
from quartet_bus._store import Backoff
from quartet_bus._task_statuses import TaskStatuses
from quartet_bus.errors import BusError, LeaseLostError
from quartet_bus.functions.queues import HandOver
from quartet_bus.functions.tasks import BeginEpoch, LeaseRobot, OldestConsumer, OldestTaken, ReleaseRobot
from quartet_bus.journal import Journal
from quartet_contracts import (
    ANY_ROBOT,
    ContractError,
    JournalEvent,
    MalformedMessageError,
    State,
    Task,
    TaskReport,
    TaskStatus,
    decode,
)
from quartet_contracts.journal import Reported, StateChanged
from quartet_process import BACKGROUND

log = logging.getLogger(__name__)
GROUP = "orchestrator"


class TaskDelivery(Delivery[Task]):
    """Task taken from the stream. When it was `started` before, motions may have happened."""

    @property
    def task(self) -> Task:
        """The task itself."""
        return self.message


class RobotTasks(Queue[Task]):
    """Task queue of one robot, as one orchestrator replica uses it."""

    kind = "task"
    _writer = OWNER

    def __init__(
        self,
        context: BusContext,
        dead: DeadLetters,
        statuses: TaskStatuses,
        journal: Journal,
        robot: str,
        consumer: str,
    ) -> None:
        super().__init__(context, dead, context.keys.task_stream(robot), GROUP, consumer)
        self.robot = robot
        self._statuses, self._journal = statuses, journal
        self._shared = SharedTasks(context, statuses)
        self._may_share: MayShare | None = None
        self._ready: Callable[[], Awaitable[bool]] | None = None
        self._giving_up: Callable[[Task], Awaitable[object]] | None = None
        self._robot_renewer: asyncio.Task[None] | None = None
        self._owned = False
        self._backoff = Backoff(f"tasks of {robot}")

    @property
    def owned(self) -> bool:
        """Whether this replica owns the robot's lease."""
        return self._owned

    async def take(
        self,
        may_share: MayShare | None = None,
        ready: Callable[[], Awaitable[bool]] | None = None,
        giving_up: Callable[[Task], Awaitable[object]] | None = None,
    ) -> TaskDelivery:
        """Return the next task of this robot; wait while another replica serves the robot or Redis is away.

        Args:
            ready: Called while this replica owns the robot; no task is taken while it returns False.
            may_share: Called for each task that waits and names no robot, the oldest first, until this robot can take
                one; returns whether it can.
            giving_up: Called before a task that was begun ends because it was delivered too often.
        """
        self._may_share = may_share
        self._ready = ready
        self._giving_up = giving_up
        if self._robot_renewer is None:
            self._robot_renewer = BACKGROUND.start("bus-robot-lease", self._renew_robot_lease)
        async with self._notifications.listen(f"tasks:{self.robot}", f"tasks:{ANY_ROBOT}") as wakeup:
            while True:
                disposed = self._disposed
                try:
                    delivery = await self._take_once() if await self._lease_robot() else None
                    self._backoff.worked()
                    if delivery is not None:
                        return delivery
                except BusError as error:
                    await self._backoff.failed(error)
                    continue
                if disposed != self._disposed:
                    # A task may wait behind the entry that was not returned.
                    continue
                await wakeup.wait(min(2.0, self._options.lease_s / 3))

    async def _take_once(self) -> TaskDelivery | None:
        if self._ready is not None and not await self._ready():
            return None
        admitted = await self._next(None)
        if admitted is None:
            return None
        self._add_lease(admitted.lease)
        return TaskDelivery(admitted.message, admitted.redelivered, admitted.started, admitted.lease)

    async def working_on(self) -> Task | None:
        """Return the task of this robot that a replica has taken and not finished."""
        fields = await self._store.run(OldestTaken(self._stream, self._group))
        try:
            return decode(Task, fields[FIELD]) if fields else None
        except (ContractError, KeyError):
            return None

    async def mark_started(self, delivery: TaskDelivery) -> LeaseEpoch:
        """Become the task's owner, persisted before the first effect, and return the epoch.

        From then on, writes with the epoch of a former owner are refused. Raises LeaseLostError when another replica
        owns the task now.
        """
        task, lease = delivery.task, delivery.lease
        # Its waits for persons come on top of its time, so it is given as long again as its records are kept.
        expiry = self._expiry_ms(time.time() + task.timeout_s + self._options.records_s)
        epoch = await self._store.run(
            BeginEpoch(
                stream=self._stream,
                started=self._keys.started(self.kind, task.task_id),
                done=self._keys.done(self.kind, task.task_id),
                epoch=self._keys.epoch(task.task_id),
                group=self._group,
                consumer=self._consumer,
                entry_id=lease.entry_id,
                expiry_ms=expiry,
                epoch_expiry_ms=expiry + round(self._options.records_s * 1000),
            )
        )
        if not epoch:
            lease.lost.set()
            self._drop_lease(lease)
            raise LeaseLostError(f"task '{task.task_id}' was taken over by another replica; do not act on it")
        return LeaseEpoch(task.task_id, epoch)

    async def progressed(self, delivery: TaskDelivery) -> None:
        """Count deliveries from 1 again: only a task without progress becomes a dead letter."""
        await self._reset_deliveries(delivery.lease.entry_id)

    async def hand_over(self, delivery: TaskDelivery) -> None:
        """Return a running task, so that another replica takes it over at once and not after the lease."""
        self._drop_lease(delivery.lease)
        idle_ms = round(self._options.lease_s * 2000)
        await self._store.run(HandOver(self._stream, self._group, self._consumer, delivery.lease.entry_id, idle_ms))
        await self._release_robot()
        await self._notifications.send(f"tasks:{self.robot}")

    async def finish(self, delivery: TaskDelivery) -> None:
        """Delete the task from the stream; its end is already in the status and the journal."""
        await self._complete(delivery.lease, b"done", "")

    def release(self, delivery: TaskDelivery) -> None:
        """Stop renewing a task that cannot be ended here: after the lease it is delivered again, up to the cap."""
        self._drop_lease(delivery.lease)

    async def waiting(self) -> int:
        """Count the tasks on the stream, including the running one."""
        return int(await self._store.call("XLEN", self._stream))

    async def close(self) -> None:
        """Stop renewing, and release the robot unless one of its tasks still runs here."""
        await super().close()
        if self._robot_renewer is not None:
            self._robot_renewer.cancel()
            await asyncio.gather(self._robot_renewer, return_exceptions=True)
            self._robot_renewer = None
        if self._owned and not self._leases:
            try:
                await self._release_robot()
            except BusError as error:
                log.debug("lease of robot %s not released: %s", self.robot, error)

    async def _release_robot(self) -> None:
        self._owned = False
        await self._store.run(ReleaseRobot(self._keys.robot_lease(self.robot), self._consumer))

    async def _may_read(self) -> bool:
        """Return False while another replica has a task of this robot: a robot works for one task at a time."""
        holder = await self._store.run(OldestConsumer(self._stream, self._group))
        if holder is None and self._may_share is not None:
            await self._shared.assign(self.robot, self._group, self._may_share)
        return holder is None or holder == self._consumer

    async def _lease_robot(self) -> bool:
        lease_ms = round(self._options.lease_s * 1000)
        key = self._keys.robot_lease(self.robot)
        self._owned = await self._store.run(LeaseRobot(key, self._consumer, lease_ms))
        return self._owned

    async def _renew_robot_lease(self) -> None:
        while True:
            await asyncio.sleep(self._options.lease_s / 3)
            if self._owned:
                try:
                    await self._lease_robot()
                except BusError as error:
                    log.warning("lease of robot %s not renewed: %s", self.robot, error)

    def _decode(self, data: bytes) -> Task:
        task = decode(Task, data)
        if task.robot != self.robot:
            raise MalformedMessageError(f"the task is for robot '{task.robot}', this is the stream of '{self.robot}'")
        return task

    def _identity(self, message: Task) -> tuple[str, float]:
        return message.task_id, message.deadline

    async def _answer_duplicate(self, entry_id: str, message: Task, done: bytes | None) -> None:
        log.info("duplicate of task %s", message.task_id)
        await self._store.transaction(("XACK", self._stream, self._group, entry_id), ("XDEL", self._stream, entry_id))

    async def _dead_letter(self, entry_id: str, data: bytes, reason: str, message: Task | None, started: bool) -> None:
        log.error("dead letter on %s, entry %s: %s", self._stream, entry_id, reason)
        if message is not None:
            if started and self._giving_up is not None:
                await self._giving_up(message)
            await self._fail(message, reason)
        await self._store.transaction(
            self._dead.command(self._writer, self._stream, entry_id, reason, data),
            ("XACK", self._stream, self._group, entry_id),
            ("XDEL", self._stream, entry_id),
        )

    async def _fail(self, task: Task, reason: str) -> None:
        report = TaskReport(success=False, summary=f"The task was given up: {reason}")
        try:
            status = await self._statuses.get(task.task_id)
        except ContractError:
            # An unreadable status must not prevent the end of the task.
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
        """Append report and final state to the journal, for its readers."""
        for event in (Reported(report=report), StateChanged(state=State.FAILED, reason=report.summary)):
            await self._journal.append(JournalEvent(task_id=task_id, actor="orchestrator", at=time.time(), event=event))
