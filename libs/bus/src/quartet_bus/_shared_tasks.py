"""Stream of tasks that name no robot: the first free robot takes the oldest."""

import logging
import time

from quartet_bus._part import BusContext, Part
from quartet_bus._queue import FIELD
from quartet_bus._task_statuses import TaskStatuses
from quartet_bus.functions.tasks import AssignTask
from quartet_contracts import ANY_ROBOT, ContractError, Task, TaskStatus, decode, encode

log = logging.getLogger(__name__)


class SharedTasks(Part):
    """BusContext tasks; each moves atomically to the stream of one robot, and belongs to that robot from then on."""

    def __init__(self, context: BusContext, statuses: TaskStatuses) -> None:
        super().__init__(context)
        self._statuses = statuses
        self._stream = self._keys.task_stream(ANY_ROBOT)

    async def waiting(self) -> int:
        return int(await self._store.call("XLEN", self._stream))

    async def assign(self, robot: str, group: str) -> bool:
        """Give `robot` the oldest task; False when there is none, the robot works, or has something older to do."""
        rows = await self._store.call("XRANGE", self._stream, "-", "+", "COUNT", 1)
        if not rows:
            return False
        entry_id, fields = rows[0]
        data: bytes = fields.get(FIELD, b"")
        named, status, task_id = data, b"", ""
        try:
            task = decode(Task, data).model_copy(update={"robot": robot})
            task_id, named = task.task_id, encode(task)
            known = await self._statuses.get(task_id)
            if known is not None:
                status = encode(_taken_by(known, task))
        except ContractError as error:
            # Assigned unchanged: the robot's queue turns an unreadable entry into a dead letter with the reason.
            log.error("entry %s on %s: %s", entry_id.decode(), self._stream, error)
        return await self._store.run(
            AssignTask(
                stream=self._keys.task_stream(robot),
                shared=self._stream,
                status=self._keys.status(task_id),
                group=group,
                entry_id=entry_id,
                task=named,
                message=status,
            )
        )


def _taken_by(status: TaskStatus, task: Task) -> TaskStatus:
    return status.model_copy(update={"task": task, "updated_at": time.time()})
