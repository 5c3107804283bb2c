"""What is known of each task, and the list of tasks."""

import time
from typing import Any

from quartet_bus import _scripts
from quartet_bus._keys import Keys
from quartet_bus._store import Store
from quartet_bus.options import BusOptions
from quartet_bus.tenure import Tenure, epoch_of
from quartet_contracts import TERMINAL, State, TaskStatus, decode, encode, may_move
from quartet_process import redact_bytes


def _before(new: State) -> str:
    """The states that `new` may follow, as the script reads them; a final state does not follow itself."""
    before = [old for old in State if may_move(old, new) and old not in TERMINAL]
    return f" {' '.join(before)} "


class Statuses:
    def __init__(self, store: Store, keys: Keys, options: BusOptions) -> None:
        self._store = store
        self._keys = keys
        self._options = options

    async def put(self, status: TaskStatus, expected: State | None = None, tenure: Tenure | None = None) -> bool:
        """Replace a status. False: its state may not follow the one there, or `expected` is given and not there.

        The check and the write are one step, so a task has exactly one terminal state whoever writes. Raises
        LeaseLost, and writes nothing, when `tenure` is given and the task has another owner by now.
        """
        task = status.task
        keys = [
            self._keys.status(task.task_id),
            self._keys.epoch(task.task_id),
            self._keys.submission(task.submission or ""),
            self._keys.waiting,
        ]
        written = int(
            await self._store.script(
                _scripts.PUT_STATUS,
                keys,
                str(status.state),
                redact_bytes(encode(status)),
                self.expiry_ms(status),
                _before(status.state),
                str(expected or ""),
                epoch_of(tenure),
                task.task_id,
            )
        )
        if written < 0:
            assert tenure is not None
            raise tenure.over()
        return bool(written)

    async def get(self, task_id: str) -> TaskStatus | None:
        data = await self._store.call("HGET", self._keys.status(task_id), "m")
        return None if data is None else decode(TaskStatus, data)

    async def list(self, state: State | None = None, limit: int = 50) -> list[TaskStatus]:
        """The newest tasks first."""
        found: list[TaskStatus] = []
        start, page = 0, 200
        while len(found) < limit:
            names = await self._store.call("ZREVRANGE", self._keys.index, start, start + page - 1)
            if not names:
                break
            start += len(names)
            rows = await self._store.transaction(*(("HGET", self._keys.status(n.decode()), "m") for n in names))
            for data in rows:
                if data is not None:
                    status = decode(TaskStatus, data)
                    if state is None or status.state == state:
                        found.append(status)
        return found[:limit]

    async def forget_expired(self, count: int = 50) -> int:
        """Take the oldest tasks whose status has expired off the list; how many."""
        names = await self._store.call("ZRANGE", self._keys.index, 0, count - 1)
        if not names:
            return 0
        there = await self._store.transaction(*(("EXISTS", self._keys.status(n.decode())) for n in names))
        gone = [name for name, exists in zip(names, there, strict=True) if not exists]
        if gone:
            await self._store.call("ZREM", self._keys.index, *gone)
        return len(gone)

    def expiry_ms(self, status: TaskStatus) -> int:
        """How long the status is kept from now on; a task that has not ended is kept beyond its deadline."""
        left: Any = 0.0 if status.state in TERMINAL else max(0.0, status.task.deadline - time.time())
        return round((left + self._options.records_s) * 1000)
