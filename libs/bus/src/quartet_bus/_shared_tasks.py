"""Stream of tasks that name no robot: the first free robot takes the oldest that it can do."""

import logging
import time
from collections.abc import Awaitable, Callable

from quartet_bus._part import BusContext, Part
from quartet_bus._queue import FIELD
from quartet_bus._task_statuses import TaskStatuses
from quartet_bus.functions.tasks import AssignTask
from quartet_contracts import ANY_ROBOT, ContractError, Task, TaskStatus, decode, encode

log = logging.getLogger(__name__)
PAGE = 50
"""Tasks that are read at once."""
MayShare = Callable[[Task], Awaitable[bool]]
"""Returns whether a robot can take a task now."""


class SharedTasks(Part):
    """BusContext tasks; each moves atomically to the stream of one robot, and belongs to that robot from then on."""

    def __init__(self, context: BusContext, statuses: TaskStatuses) -> None:
        super().__init__(context)
        self._statuses = statuses
        self._stream = self._keys.task_stream(ANY_ROBOT)

    async def assign(self, robot: str, group: str, may_take: MayShare) -> bool:
        """Give `robot` the oldest task that it may take.

        False when there is none, the robot works, or has something older to do.
        """
        start = "-"
        while rows := await self._store.call("XRANGE", self._stream, start, "+", "COUNT", PAGE):
            for entry_id, fields in rows:
                data: bytes = fields.get(FIELD, b"")
                try:
                    task = decode(Task, data)
                except ContractError as error:
                    # Given unchanged: the robot's queue turns an unreadable entry into a dead letter with the reason.
                    log.error("entry %s on %s: %s", entry_id.decode(), self._stream, error)
                    return await self._give(robot, group, entry_id.decode(), data)
                if await may_take(task):
                    task = task.model_copy(update={"robot": robot})
                    return await self._give(robot, group, entry_id.decode(), encode(task), task)
            start = f"({rows[-1][0].decode()}"
        return False

    async def _give(self, robot: str, group: str, entry_id: str, data: bytes, task: Task | None = None) -> bool:
        status, task_id = b"", task.task_id if task else ""
        if task is not None:
            try:
                known = await self._statuses.get(task_id)
                status = encode(_taken_by(known, task)) if known else b""
            except ContractError as error:
                log.error("status of task %s: %s", task_id, error)
        return await self._store.run(
            AssignTask(
                stream=self._keys.task_stream(robot),
                shared=self._stream,
                status=self._keys.status(task_id),
                group=group,
                entry_id=entry_id,
                task=data,
                message=status,
            )
        )


def _taken_by(status: TaskStatus, task: Task) -> TaskStatus:
    return status.model_copy(update={"task": task, "updated_at": time.time()})
