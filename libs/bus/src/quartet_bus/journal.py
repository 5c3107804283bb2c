"""The journal: one stream per task, readable while it grows.

Only the owner of a task writes its journal. An agent writes the events of a request to a stream of its own, from which
the owner copies those that an agent may write: no agent can write in another one's name, nor drop what is written.
"""

import logging
import secrets
import time
from collections.abc import AsyncGenerator

from quartet_bus._fencing import LeaseEpoch, epoch_argument
from quartet_bus._part import BusContext, Part
from quartet_bus._queue import FIELD
from quartet_bus._skipped import log_skipped
from quartet_bus._store import Backoff
from quartet_bus.errors import BusUnavailableError, JournalFullError, StoreFullError
from quartet_bus.functions.records import AppendAgentEvent, AppendEvent, AppendLastEvent, Entry, ReadEntries
from quartet_contracts import MAX_MESSAGE_BYTES, TERMINAL, ContractError, JournalEvent, SkillRequest, decode, encode
from quartet_contracts.journal import (
    ModelTurn,
    Note,
    Ordered,
    Reported,
    SkillFinished,
    SkillSettled,
    SkillStarted,
    StateChanged,
    TakenOver,
    ToolCalled,
    ToolProgress,
    ToolReturned,
    Verified,
)
from quartet_process import redact_bytes, tracing

log = logging.getLogger(__name__)

START = "0-0"
ENDING = (StateChanged, TakenOver, SkillFinished, SkillSettled, Reported, Ordered, Note)
"""What a task's owner writes on the way to its end: few and short, so that even a full store accepts them."""
AGENT_EVENTS = (SkillStarted, ModelTurn, ToolCalled, ToolProgress, ToolReturned, Verified, Note)
"""What an agent may write about a request."""
MOST_BYTES = 4 * 1024 * 1024
"""Read from a journal at once."""


class Journal(Part):
    """Journals of all tasks, as one process reads and writes them."""

    def __init__(self, context: BusContext) -> None:
        super().__init__(context)
        self._clocks: dict[str, tuple[str, float]] = {}
        """Request and clock of each agent."""

    @property
    def agent_clocks(self) -> dict[str, float]:
        """How far the clock of each agent is ahead of Redis' [s], by its events of the newest request that was copied.

        An event is as old as its writing took, so that the least old one counts.
        """
        return {agent: ahead for agent, (_, ahead) in self._clocks.items()}

    async def append(
        self, *events: JournalEvent, lease_epoch: LeaseEpoch | None = None, nonce: str | None = None
    ) -> str:
        """Append events of one task in order; return the position of the last, '' for progress that is not kept.

        Raises LeaseLostError when `lease_epoch` is given and the task has another owner by now, and JournalFullError
        when the task has as many events as it may; then what had no room was not written. Events of the task's owner
        are always taken: its own loop and budget limit them, and the journal must be able to tell the end. An event
        whose `nonce` came before is not written again.
        """
        agent = self._context.agent
        with tracing.step("journal"):
            if agent is None:
                functions = [self._owners(event, lease_epoch, nonce) for event in events]
            else:
                functions = [self._agents(event, agent) for event in events]
            positions = await self._store.run_in_order(*functions)
        for event, position in zip(events, positions, strict=True):
            if position is None and agent is None:
                assert lease_epoch is not None
                raise lease_epoch.lost()
            if not position and not isinstance(event.event, ToolProgress):
                raise self._full(event.task_id)
        return positions[-1] or ""

    def _owners(self, event: JournalEvent, lease_epoch: LeaseEpoch | None, nonce: str | None) -> AppendEvent:
        task_id = event.task_id
        ending = event.request_id is None and isinstance(event.event, ENDING)
        append = AppendLastEvent if ending else AppendEvent
        return append(
            journal=self._keys.journal(task_id),
            epoch=self._keys.epoch(task_id),
            positions=self._keys.journal_nonces(task_id),
            mine=epoch_argument(lease_epoch),
            cap=self._cap(event),
            expiry_ms=round(self._options.records_s * 1000),
            message=redact_bytes(encode(event)),
            nonce=nonce or secrets.token_hex(6),
            channel=self._keys.signal(f"journal:{task_id}"),
        )

    def _agents(self, event: JournalEvent, agent: str) -> AppendAgentEvent:
        if event.request_id is None:
            raise ValueError("an agent writes about a request: the event needs its request_id")
        return AppendAgentEvent(
            journal=self._keys.agent_journal(agent, event.request_id),
            positions=self._keys.agent_journal_nonces(agent, event.request_id),
            cap=int(self._cap(event)),
            expiry_ms=round(self._options.records_s * 1000),
            message=redact_bytes(encode(event)),
            nonce=secrets.token_hex(6),
            channel=self._keys.signal(f"agent-journal:{event.request_id}"),
        )

    async def require_room(self, task_id: str) -> None:
        """Raise JournalFullError when the journal has no room for a further step of the task."""
        if await self._store.call("XLEN", self._keys.journal(task_id)) >= self._options.journal_events:
            raise self._full(task_id)

    def _cap(self, event: JournalEvent) -> int | str:
        if isinstance(event.event, ToolProgress):
            return self._options.journal_events // 2
        return "" if event.request_id is None else self._options.journal_events

    def _full(self, task_id: str) -> JournalFullError:
        return JournalFullError(
            f"the journal of task '{task_id}' holds all of the {self._options.journal_events} events that a task may "
            "write; give the rest of the work as a new task"
        )

    async def copy_agent_events(self, request: SkillRequest, lease_epoch: LeaseEpoch | None) -> None:
        """Copy what the agent has written about `request` so far into the journal of the task.

        Events that are not the agent's to write are skipped. Copied ones are deleted at the agent's stream; one that
        is copied a second time, after a crash in between, is not written again. Of an agent that writes without end no
        more is read than the journal may hold. Raises LeaseLostError.
        """
        stream = self._keys.agent_journal(request.skill, request.request_id)
        after, left = START, self._options.journal_events
        while left > 0:
            entries = await self._store.run(ReadEntries(stream, after, 100, 2 * MAX_MESSAGE_BYTES, MOST_BYTES))
            if not entries:
                return
            after, left = entries[-1].entry_id, left - len(entries)
            for entry in entries:
                event = _agent_event(request, entry)
                if event is None:
                    continue
                self._note_clock(request, event, entry)
                # Its time is that at which Redis took it: the agent's clock may differ.
                timed = event.model_copy(update={"at": min(_taken_at(entry.entry_id), time.time())})
                try:
                    await self.append(timed, lease_epoch=lease_epoch, nonce=f"{request.request_id}:{entry.entry_id}")
                except JournalFullError as error:
                    log_skipped("agent journal", entry.entry_id, error)
                except StoreFullError as error:
                    # They stay on the agent's stream; the end of a request must not wait for room.
                    log.warning("events of request %s are not copied: %s", request.request_id, error)
                    return
            await self._store.call("XDEL", stream, *(entry.entry_id for entry in entries))

    def _note_clock(self, request: SkillRequest, event: JournalEvent, entry: Entry) -> None:
        """Compare the time in an agent's event with that at which Redis took it."""
        ahead = event.at - _taken_at(entry.entry_id)
        before = self._clocks.get(request.skill)
        if before is not None and before[0] == request.request_id:
            ahead = max(ahead, before[1])
        self._clocks[request.skill] = (request.request_id, ahead)

    async def relay(self, request: SkillRequest, lease_epoch: LeaseEpoch | None) -> None:
        """Copy the agent's events of `request` as they come, until this is canceled. Raises LeaseLostError."""
        backoff = Backoff(f"events of request {request.request_id}")
        async with self._notifications.listen(f"agent-journal:{request.request_id}") as wakeup:
            while True:
                try:
                    await self.copy_agent_events(request, lease_epoch)
                    backoff.worked()
                except BusUnavailableError as error:
                    await backoff.failed(error)
                    continue
                await wakeup.wait()

    async def read(self, task_id: str, after: str = START, count: int = 1000) -> list[JournalEvent]:
        """Return events behind position `after`, oldest first; empty only where the journal ends.

        An entry that cannot be read is skipped.
        """
        stream, events = self._keys.journal(task_id), list[JournalEvent]()
        while not events:
            entries = await self._store.run(ReadEntries(stream, after, count, 2 * MAX_MESSAGE_BYTES, MOST_BYTES))
            if not entries:
                break
            after = entries[-1].entry_id
            for entry in entries:
                try:
                    event = decode(JournalEvent, entry.data if entry.data is not None else b"")
                except ContractError as error:
                    log_skipped("journal", f"entry {entry.entry_id} of task {task_id}", error)
                else:
                    events.append(event.model_copy(update={"position": entry.entry_id}))
        return events

    async def read_all(self, task_id: str) -> list[JournalEvent]:
        """Return all events of a task, oldest first."""
        events: list[JournalEvent] = []
        while batch := await self.read(task_id, events[-1].position if events else START):
            events.extend(batch)
        return events

    async def follow(self, task_id: str, after: str = START) -> AsyncGenerator[JournalEvent]:
        """Yield events behind `after` as they come; ends after the task's terminal state."""
        async with self._notifications.listen(f"journal:{task_id}") as wakeup:
            while True:
                for event in await self.read(task_id, after):
                    after = event.position
                    yield event
                    if is_end(event):
                        return
                await wakeup.wait()


def _agent_event(request: SkillRequest, entry: Entry) -> JournalEvent | None:
    """Return the event in an agent's entry; None for one that is not the agent's to write about `request`."""
    what = f"entry {entry.entry_id} of request {request.request_id}"
    if entry.data is None:
        log_skipped("agent journal", what, f"it has no field {FIELD.decode()!r} or is too large")
        return None
    try:
        event = decode(JournalEvent, entry.data)
    except ContractError as error:
        log_skipped("agent journal", what, error)
        return None
    if (event.task_id, event.actor, event.request_id) != (request.task_id, request.skill, request.request_id):
        log_skipped("agent journal", what, f"it is in the name of {event.actor} for {event.request_id}")
        return None
    if not isinstance(event.event, AGENT_EVENTS):
        log_skipped("agent journal", what, f"an agent does not write '{event.event.kind}'")
        return None
    return event


def taken_at(event: JournalEvent) -> float:
    """Return the time at which Redis took an event of a journal, by its clock, which all replicas share [s]."""
    return _taken_at(event.position) if event.position else event.at


def _taken_at(entry_id: str) -> float:
    return int(entry_id.partition("-")[0]) / 1000


def is_end(event: JournalEvent) -> bool:
    """Return whether this is the event with which a task ends."""
    return isinstance(event.event, StateChanged) and event.event.state in TERMINAL and event.request_id is None
