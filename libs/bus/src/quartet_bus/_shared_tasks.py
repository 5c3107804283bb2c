"""The stream of tasks that name no robot: whichever is free first takes the oldest."""

import logging
import time

from quartet_bus import _scripts
from quartet_bus._keys import Keys
from quartet_bus._queue import FIELD
from quartet_bus._store import Store
from quartet_bus.statuses import Statuses
from quartet_contracts import ANY_ROBOT, ContractError, Task, TaskStatus, decode, encode

log = logging.getLogger(__name__)


class SharedTasks:
    """A task leaves this stream for the one of a robot in one step, and is from then on a task of that robot."""

    def __init__(self, store: Store, keys: Keys, statuses: Statuses) -> None:
        self._store = store
        self._keys = keys
        self._statuses = statuses
        self._stream = keys.task_stream(ANY_ROBOT)

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
            # As it is: the robot's queue buries what cannot be read, and tells why.
            log.error("entry %s on %s: %s", entry_id.decode(), self._stream, error)
        keys = [self._keys.task_stream(robot), self._stream, self._keys.status(task_id)]
        return bool(await self._store.script(_scripts.ASSIGN, keys, group, entry_id, named, status))


def _taken_by(status: TaskStatus, task: Task) -> TaskStatus:
    return status.model_copy(update={"task": task, "updated_at": time.time()})
