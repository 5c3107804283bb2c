"""What is known of each task, and the list of tasks."""

import time
from typing import Any

from quartet_bus import _scripts
from quartet_bus._keys import Keys
from quartet_bus._store import Commands, Store
from quartet_bus.options import BusOptions
from quartet_contracts import TERMINAL, State, TaskStatus, decode, encode

_FINAL = " ".join(sorted(TERMINAL))


class Statuses:
    def __init__(self, store: Store, keys: Keys, options: BusOptions) -> None:
        self._store = store
        self._keys = keys
        self._options = options

    async def put(self, status: TaskStatus, expected: State | None = None) -> bool:
        """Replace a status. False: it is final already, or `expected` is given and it is in another state.

        The check and the write are one step, so a task has exactly one terminal state whoever writes.
        """
        expiry = self._expiry_ms(status)
        key = self._keys.status(status.task.task_id)
        return bool(
            await self._store.script(
                _scripts.PUT_STATUS, [key], str(status.state), encode(status), expiry, _FINAL, str(expected or "")
            )
        )

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

    def new(self, status: TaskStatus) -> Commands:
        """Writes the first status and the list entry, as commands for a transaction."""
        task = status.task
        key = self._keys.status(task.task_id)
        return [
            ("HSET", key, "state", str(status.state), "m", encode(status)),
            ("PEXPIRE", key, self._expiry_ms(status)),
            ("ZADD", self._keys.index, task.created_at, task.task_id),
            ("ZREMRANGEBYRANK", self._keys.index, 0, -self._options.index_entries - 1),
        ]

    def _expiry_ms(self, status: TaskStatus) -> int:
        left: Any = 0.0 if status.state in TERMINAL else max(0.0, status.task.deadline - time.time())
        return round((left + self._options.records_s) * 1000)
