"""The task streams: one per robot, and one replica at a time that serves a robot."""

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Any

from quartet_bus import _scripts
from quartet_bus._keys import Keys
from quartet_bus._queue import FIELD, Lease, Queue, queue_full
from quartet_bus._store import Patience, Store
from quartet_bus.dead_letters import DeadLetters
from quartet_bus.errors import BusUnavailable
from quartet_bus.options import BusOptions
from quartet_bus.signals import Signals
from quartet_bus.statuses import Statuses
from quartet_contracts import ContractError, State, Task, TaskReport, TaskStatus, decode, encode

log = logging.getLogger(__name__)
GROUP = "orchestrator"


@dataclass(frozen=True, eq=False)
class TaskDelivery:
    task: Task
    redelivered: bool
    """A replica that is gone had it before."""
    started: bool
    """It had been started there: motions may have happened."""
    lease: Lease

    @property
    def lost(self) -> asyncio.Event:
        """Set when another replica took the task over: stop acting on it."""
        return self.lease.lost


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
        robot: str,
        consumer: str,
    ) -> None:
        super().__init__(store, keys, options, dead, keys.task_stream(robot), GROUP, consumer)
        self.robot = robot
        self._signals = signals
        self._statuses = statuses
        self._holder: asyncio.Task[None] | None = None
        self._owned = False
        self._patience = Patience(f"tasks of {robot}")

    async def take(self) -> TaskDelivery:
        """The next task of this robot; waits while another replica serves the robot. Outlives a restart of Redis."""
        if self._holder is None:
            self._holder = asyncio.create_task(self._hold_robot(), name=f"bus-robot-{self.robot}")
        async with self._signals.listen(f"tasks:{self.robot}") as bell:
            while True:
                try:
                    delivery = await self._take_once() if await self._claim_robot() else None
                    self._patience.worked()
                    if delivery is not None:
                        return delivery
                except BusUnavailable as error:
                    await self._patience.failed(error)
                    continue
                await bell.wait(min(2.0, self._options.lease_s / 3))

    async def _take_once(self) -> TaskDelivery | None:
        admitted = await self._next(self._store.call, None)
        if admitted is None:
            return None
        self._hold(admitted.lease)
        return TaskDelivery(admitted.message, admitted.redelivered, admitted.started, admitted.lease)

    async def mark_started(self, delivery: TaskDelivery) -> None:
        """Durable before the first effect. Raises LeaseLost when another replica has the task now."""
        await self._start(delivery.lease, delivery.task.deadline)

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
                await self._store.script(_scripts.RELEASE, [self._keys.robot_lease(self.robot)], self._consumer)
            except BusUnavailable as error:
                log.debug("lease of robot %s not released: %s", self.robot, error)

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
        return decode(Task, data)

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
            await self._statuses.put(changed)
        except ContractError:
            log.exception("status of task %s not written", task.task_id)


class Tasks:
    """Submission, and the queue of each robot."""

    def __init__(
        self, store: Store, keys: Keys, options: BusOptions, dead: DeadLetters, signals: Signals, statuses: Statuses
    ) -> None:
        self._store = store
        self._keys = keys
        self._options = options
        self._dead = dead
        self._signals = signals
        self._statuses = statuses

    async def submit(self, task: Task) -> TaskStatus:
        """Status, list entry and stream entry in one step; the task is safe when this returns. Raises QueueFull."""
        status = TaskStatus(task=task, state=State.QUEUED, updated_at=time.time())
        stream = self._keys.task_stream(task.robot)
        if int(await self._store.call("XLEN", stream)) >= self._options.queue_entries:
            raise queue_full(stream, self._options.queue_entries)
        commands: list[tuple[Any, ...]] = [
            *self._statuses.new(status),
            ("XADD", stream, "*", FIELD, encode(task)),
            self._signals.command(f"tasks:{task.robot}"),
        ]
        await self._store.transaction(*commands)
        await self._statuses.forget_expired()
        return status

    def of(self, robot: str, consumer: str) -> RobotTasks:
        """The queue of `robot` for the replica `consumer`."""
        return RobotTasks(
            self._store, self._keys, self._options, self._dead, self._signals, self._statuses, robot, consumer
        )

    async def cancel(self, task_id: str, reason: str = "canceled") -> None:
        """Ask for an end. Idempotent: the first reason stands."""
        await self._store.transaction(
            ("SET", self._keys.canceled(task_id), reason, "NX", "PX", round(self._options.records_s * 1000)),
            self._signals.command(f"cancel:{task_id}"),
        )

    async def cancellation(self, task_id: str) -> str | None:
        """Why the task is to end, or None."""
        reason = await self._store.call("GET", self._keys.canceled(task_id))
        return None if reason is None else reason.decode()

    async def canceled(self, task_id: str) -> str:
        """The reason, once the task is canceled; waits for ever otherwise."""
        async with self._signals.listen(f"cancel:{task_id}") as bell:
            while True:
                try:
                    reason = await self.cancellation(task_id)
                    if reason is not None:
                        return reason
                except BusUnavailable as error:
                    log.debug("cancel of %s: %s", task_id, error)
                await bell.wait()
