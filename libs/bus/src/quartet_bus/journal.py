"""The journal: one stream per task, readable while it grows."""

import secrets
from collections.abc import AsyncGenerator

from quartet_bus import _scripts
from quartet_bus._keys import Keys
from quartet_bus._queue import FIELD
from quartet_bus._store import Store
from quartet_bus.errors import JournalFull
from quartet_bus.options import BusOptions
from quartet_bus.signals import Signals
from quartet_bus.tenure import Tenure, epoch_of
from quartet_contracts import TERMINAL, JournalEvent, decode, encode
from quartet_contracts.journal import (
    Note,
    Ordered,
    Reported,
    SkillFinished,
    SkillSettled,
    StateChanged,
    TakenOver,
    ToolProgress,
)
from quartet_process import redact_bytes

START = "0-0"
ENDING = (StateChanged, TakenOver, SkillFinished, SkillSettled, Reported, Ordered, Note)
"""What a task's owner writes on the way to its end: few and short, so that a store that is full takes them too."""


class Journal:
    def __init__(self, store: Store, keys: Keys, options: BusOptions, signals: Signals) -> None:
        self._store = store
        self._keys = keys
        self._options = options
        self._signals = signals

    async def append(self, event: JournalEvent, tenure: Tenure | None = None) -> str:
        """Durable when it returns. The answer is the event's position, '' for progress that is not kept any more.

        Nothing is written, and raised is LeaseLost when `tenure` is given and the task has another owner by now, and
        JournalFull when the task has written all that it may. What the task's owner writes is always taken: its own
        loop and budget limit that, and the journal must be able to tell the end.
        """
        task_id = event.task_id
        ending = event.request_id is None and isinstance(event.event, ENDING)
        position = await self._store.script(
            _scripts.APPEND_WHEN_FULL if ending else _scripts.APPEND,
            [self._keys.journal(task_id), self._keys.epoch(task_id), self._keys.journal_nonces(task_id)],
            epoch_of(tenure),
            self._cap(event),
            self._expiry_ms(event),
            redact_bytes(encode(event)),
            secrets.token_hex(6),
            self._keys.signal(f"journal:{task_id}"),
        )
        if position is None:
            assert tenure is not None
            raise tenure.over()
        if not position and not isinstance(event.event, ToolProgress):
            raise self._full(task_id)
        return position.decode()

    async def require_room(self, task_id: str) -> None:
        """Raises JournalFull when nothing more can be begun for a task."""
        if await self._store.call("XLEN", self._keys.journal(task_id)) >= self._options.journal_events:
            raise self._full(task_id)

    def _cap(self, event: JournalEvent) -> int | str:
        if isinstance(event.event, ToolProgress):
            return self._options.journal_events // 2
        return "" if event.request_id is None else self._options.journal_events

    def _expiry_ms(self, event: JournalEvent) -> int | str:
        """Only the task's owner sets when the journal ends: whoever may set that may also set it to now."""
        return round(self._options.records_s * 1000) if event.request_id is None else ""

    def _full(self, task_id: str) -> JournalFull:
        return JournalFull(
            f"the journal of task '{task_id}' holds all of the {self._options.journal_events} events that a task may "
            "write; give the rest of the work as a new task"
        )

    async def read(self, task_id: str, after: str = START, count: int = 1000) -> list[JournalEvent]:
        """Events behind position `after`, oldest first."""
        rows = await self._store.call("XRANGE", self._keys.journal(task_id), f"({after}", "+", "COUNT", count)
        return [
            decode(JournalEvent, fields[FIELD]).model_copy(update={"position": entry_id.decode()})
            for entry_id, fields in rows
        ]

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
