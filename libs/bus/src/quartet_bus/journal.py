"""The journal: one stream per task, readable while it grows."""

import secrets
from collections.abc import AsyncGenerator
from typing import Any

from quartet_bus import _scripts
from quartet_bus._keys import Keys
from quartet_bus._queue import FIELD
from quartet_bus._store import Store
from quartet_bus.options import BusOptions
from quartet_bus.signals import Signals
from quartet_bus.tenure import Tenure, epoch_of
from quartet_contracts import TERMINAL, JournalEvent, decode, encode
from quartet_contracts.journal import StateChanged

START = "0-0"


class Journal:
    def __init__(self, store: Store, keys: Keys, options: BusOptions, signals: Signals) -> None:
        self._store = store
        self._keys = keys
        self._options = options
        self._signals = signals

    async def append(self, event: JournalEvent, tenure: Tenure | None = None) -> str:
        """Durable when it returns. The answer is the event's position.

        Raises LeaseLost, and writes nothing, when `tenure` is given and the task has another owner by now.
        """
        position = await self._store.script(
            _scripts.APPEND,
            [self._keys.journal(event.task_id), self._keys.epoch(event.task_id)],
            epoch_of(tenure),
            self._options.journal_events,
            round(self._options.records_s * 1000),
            encode(event),
            secrets.token_hex(6),
            self._keys.signal(f"journal:{event.task_id}"),
        )
        if position is None:
            assert tenure is not None
            raise tenure.over()
        return position.decode()

    async def read(self, task_id: str, after: str = START, count: int = 1000) -> list[JournalEvent]:
        """Events behind position `after`, oldest first. An append that a retry wrote twice is read once."""
        rows = await self._store.call("XRANGE", self._keys.journal(task_id), f"({after}", "+", "COUNT", count)
        events: list[JournalEvent] = []
        seen: set[bytes] = set()
        for entry_id, fields in rows:
            nonce: Any = fields.get(b"n", entry_id)
            if nonce not in seen:
                seen.add(nonce)
                event = decode(JournalEvent, fields[FIELD])
                events.append(event.model_copy(update={"position": entry_id.decode()}))
        return events

    async def read_all(self, task_id: str) -> list[JournalEvent]:
        events: list[JournalEvent] = []
        while batch := await self.read(task_id, events[-1].position if events else START):
            events.extend(batch)
        return events

    async def follow(self, task_id: str, after: str = START) -> AsyncGenerator[JournalEvent]:
        """Events behind `after` as they come; ends after the task's terminal state."""
        async with self._signals.listen(f"journal:{task_id}") as bell:
            while True:
                for event in await self.read(task_id, after):
                    after = event.position
                    yield event
                    if is_end(event):
                        return
                await bell.wait()


def is_end(event: JournalEvent) -> bool:
    """Whether this is the event with which a task ends."""
    return isinstance(event.event, StateChanged) and event.event.state in TERMINAL and event.request_id is None
