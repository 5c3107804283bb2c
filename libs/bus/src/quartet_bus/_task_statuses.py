"""Status of every task, and the list of tasks."""

import time
from typing import Any

from quartet_bus._fencing import LeaseEpoch, epoch_argument
from quartet_bus._part import Part
from quartet_bus._skipped import log_skipped
from quartet_bus.functions.tasks import PutStatus
from quartet_contracts import TERMINAL, ContractError, State, TaskStatus, decode, encode, may_transition
from quartet_process import redact_bytes


def _before(new: State) -> str:
    """Return the states that `new` may follow, as PutStatus takes them; a final state does not follow itself."""
    before = [old for old in State if may_transition(old, new) and old not in TERMINAL]
    return f" {' '.join(before)} "


class TaskStatuses(Part):
    """Status of every task, and the list of tasks."""

    async def put(
        self, status: TaskStatus, expected: State | None = None, lease_epoch: LeaseEpoch | None = None
    ) -> bool:
        """Replace a status. False: its state may not follow the one there, or `expected` is given and not there.

        The check and the write are one step, so a task has exactly one terminal state whoever writes. Raises
        LeaseLostError, and writes nothing, when `lease_epoch` is given and the task has another owner by now.
        """
        task = status.task
        written = await self._store.run(
            PutStatus(
                status=self._keys.status(task.task_id),
                epoch=self._keys.epoch(task.task_id),
                submission=self._keys.submission(task.submission or ""),
                waiting=self._keys.waiting,
                index=self._keys.index,
                state=str(status.state),
                message=redact_bytes(encode(status)),
                expiry_ms=self.expiry_ms(status),
                may_follow=_before(status.state),
                expected=str(expected or ""),
                mine=epoch_argument(lease_epoch),
                task_id=task.task_id,
                created_at=repr(task.created_at),
            )
        )
        if written < 0:
            assert lease_epoch is not None
            raise lease_epoch.lost()
        return bool(written)

    async def get(self, task_id: str) -> TaskStatus | None:
        """Return the status of a task, None when it is unknown or expired. Raises ContractError."""
        data = await self._store.call("HGET", self._keys.status(task_id), "m")
        return None if data is None else decode(TaskStatus, data)

    async def list(self, state: State | None = None, limit: int = 50) -> list[TaskStatus]:
        """Return the newest tasks first."""
        found: list[TaskStatus] = []
        start, page = 0, 200
        while len(found) < limit:
            names = await self._store.call("ZREVRANGE", self._keys.index, start, start + page - 1)
            if not names:
                break
            start += len(names)
            rows = await self._store.transaction(*(("HGET", self._keys.status(n.decode()), "m") for n in names))
            for data in rows:
                if data is None:
                    continue
                try:
                    status = decode(TaskStatus, data)
                except ContractError as error:
                    log_skipped("status", "of a task", error)
                    continue
                if state is None or status.state == state:
                    found.append(status)
        return found[:limit]

    async def forget_expired(self, count: int = 50) -> int:
        """Remove the oldest tasks whose status has expired from the list; return how many."""
        names = await self._store.call("ZRANGE", self._keys.index, 0, count - 1)
        if not names:
            return 0
        there = await self._store.transaction(*(("EXISTS", self._keys.status(n.decode())) for n in names))
        gone = [name for name, exists in zip(names, there, strict=True) if not exists]
        if gone:
            await self._store.call("ZREM", self._keys.index, *gone)
        return len(gone)

    def expiry_ms(self, status: TaskStatus) -> int:
        """Return how long the status is kept [ms]; that of a task that has not ended is kept beyond its deadline."""
        left: Any = 0.0 if status.state in TERMINAL else max(0.0, status.task.deadline - time.time())
        return round((left + self._options.records_s) * 1000)
