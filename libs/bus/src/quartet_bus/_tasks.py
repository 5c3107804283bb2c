"""Tasks as a person sees them: submitted, paused, canceled."""

import logging
import time
from typing import Any

from quartet_bus._dead_letters import DeadLetters
from quartet_bus._part import BusContext, Part
from quartet_bus._queue import queue_full
from quartet_bus._robot_tasks import RobotTasks
from quartet_bus._task_statuses import TaskStatuses
from quartet_bus.errors import BusUnavailableError, KeyReusedError, StoreFullError
from quartet_bus.functions.queues import Cancel
from quartet_bus.functions.tasks import SubmitTask
from quartet_bus.journal import Journal
from quartet_contracts import ANY_ROBOT, State, Task, TaskStatus, encode

log = logging.getLogger(__name__)


class Tasks(Part):
    """Submission, and the queue of each robot."""

    def __init__(self, context: BusContext, dead: DeadLetters, statuses: TaskStatuses, journal: Journal) -> None:
        super().__init__(context)
        self._dead, self._statuses, self._journal = dead, statuses, journal

    async def submit(self, task: Task, fingerprint: str = "") -> TaskStatus:
        """Status, list entry and stream entry in one step; the task is safe when this returns.

        When `task.submission` came before, the status of the task that it stands for is the answer and nothing is
        added. Raises QueueFullError, StoreFullError, and KeyReusedError when it came before with another `fingerprint`.
        """
        await self._require_room()
        status = TaskStatus(task=task, state=State.QUEUED, updated_at=time.time())
        stream = self._keys.task_stream(task.robot)
        answer = await self._store.run(
            SubmitTask(
                stream=stream,
                status=self._keys.status(task.task_id),
                index=self._keys.index,
                waiting=self._keys.waiting,
                submission=self._keys.submission(task.submission or ""),
                queue_cap=self._options.queue_entries,
                task_id=task.task_id,
                task=encode(task),
                message=encode(status),
                expiry_ms=self._statuses.expiry_ms(status),
                created_at=repr(task.created_at),
                wait_s=repr(task.deadline - task.created_at),
                fingerprint=fingerprint if task.submission else "",
                index_cap=self._options.index_entries,
                channel=self._keys.signal(f"tasks:{task.robot}"),
            )
        )
        if answer is None:
            raise queue_full(stream, self._options.queue_entries)
        task_id, came_with = answer
        if task_id != task.task_id:
            return await self._submitted_before(task_id, came_with, fingerprint)
        await self._statuses.forget_expired()
        return status

    async def is_submitted(self, submission: str) -> bool:
        """Return whether a task came with this digest of an idempotency key."""
        return bool(await self._store.call("EXISTS", self._keys.submission(submission)))

    async def _submitted_before(self, task_id: str, came_with: str, fingerprint: str) -> TaskStatus:
        status = await self._statuses.get(task_id)
        if came_with != fingerprint or status is None:
            raise KeyReusedError(
                f"this idempotency key stands for task '{task_id}', which asked for something else; "
                "send the same body as then, or a new key for a new task"
            )
        return status

    async def _require_room(self) -> None:
        """Raise StoreFullError when the rest of Redis' memory is reserved for running work."""
        memory: dict[str, Any] = await self._store.call("INFO", "memory")
        most, used = int(memory.get("maxmemory", 0)), int(memory.get("used_memory", 0))
        if most and used > most * (1 - self._options.reserve):
            raise StoreFullError(
                f"Redis uses {used / 1e6:.1f} of its {most / 1e6:.1f} MB; the rest is reserved for running tasks: no "
                "new one is accepted. Give it more memory (maxmemory) or wait until finished tasks have expired"
            )

    async def overdue(self, limit: int = 100) -> list[str]:
        """Return the tasks that were not started within the time for which they may wait, by Redis' clock."""
        now = await self._redis_time()
        command = ("ZRANGEBYSCORE", self._keys.waiting, "-inf", repr(now), "LIMIT", 0, limit)
        return [name.decode() for name in await self._store.call(*command)]

    async def is_overdue(self, task_id: str) -> bool:
        """Return whether a task that waits was not started within the time for which it may, by Redis' clock."""
        until = await self._store.call("ZSCORE", self._keys.waiting, task_id)
        return until is not None and float(until) <= await self._redis_time()

    async def _redis_time(self) -> float:
        seconds, microseconds = await self._store.call("TIME")
        return int(seconds) + int(microseconds) / 1e6

    async def remove_waiting(self, task_id: str) -> None:
        """Remove a task from the list of those that wait for a robot."""
        await self._store.call("ZREM", self._keys.waiting, task_id)

    async def waiting_for_any(self) -> int:
        """Count the tasks that name no robot and that no robot has taken."""
        return int(await self._store.call("XLEN", self._keys.task_stream(ANY_ROBOT)))

    def of(self, robot: str, consumer: str) -> RobotTasks:
        """Return the queue of `robot` for the replica `consumer`."""
        return RobotTasks(self._context, self._dead, self._statuses, self._journal, robot, consumer)

    async def pause(self, task_id: str, reason: str) -> None:
        """Request a pause before the next step. Idempotent: the first reason stands."""
        await self._store.transaction(
            ("SET", self._keys.paused(task_id), reason, "NX", "PX", round(self._options.records_s * 1000)),
            self._notifications.command(f"pause:{task_id}"),
        )

    async def resume(self, task_id: str) -> None:
        """Withdraw a pause. Idempotent."""
        await self._store.transaction(
            ("DEL", self._keys.paused(task_id)), self._notifications.command(f"pause:{task_id}")
        )

    async def pause_reason(self, task_id: str) -> str | None:
        """Return why the task is to pause, or None."""
        reason = await self._store.call("GET", self._keys.paused(task_id))
        return None if reason is None else reason.decode()

    async def resumed(self, task_id: str) -> None:
        """Wait until no pause is requested."""
        async with self._notifications.listen(f"pause:{task_id}") as wakeup:
            while True:
                try:
                    if await self.pause_reason(task_id) is None:
                        return
                except BusUnavailableError as error:
                    log.debug("pause of %s: %s", task_id, error)
                await wakeup.wait()

    async def cancel(self, task_id: str, reason: str = "canceled") -> None:
        """Cancel a task. Idempotent: the first reason stands. Works on a full store too."""
        expiry, channel = round(self._options.records_s * 1000), self._keys.signal(f"cancel:{task_id}")
        await self._store.run(Cancel(self._keys.canceled(task_id), reason, expiry, channel))

    async def cancellation(self, task_id: str) -> str | None:
        """Return why the task is to end, or None."""
        reason = await self._store.call("GET", self._keys.canceled(task_id))
        return None if reason is None else reason.decode()

    async def canceled(self, task_id: str) -> str:
        """Wait until the task is canceled and return the reason."""
        async with self._notifications.listen(f"cancel:{task_id}") as wakeup:
            while True:
                try:
                    reason = await self.cancellation(task_id)
                    if reason is not None:
                        return reason
                except BusUnavailableError as error:
                    log.debug("cancel of %s: %s", task_id, error)
                await wakeup.wait()
