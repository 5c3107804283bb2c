"""Stream with one consumer group: take, lease, reclaim, finish. Skill requests and tasks both use it."""

import asyncio
import contextlib
import logging
import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from quartet_bus._dead_letters import DeadLetters
from quartet_bus._keys import Key
from quartet_bus._link import Command
from quartet_bus._part import BusContext, Part
from quartet_bus._skipped import SKIPPED
from quartet_bus._store import Backoff
from quartet_bus.errors import (
    BusError,
    BusServerError,
    BusUnavailableError,
    LeaseLostError,
    QueueFullError,
    StoreFullError,
)
from quartet_bus.functions import queues
from quartet_bus.functions.records import TakeEntries
from quartet_bus.functions.requests import AddRequest, Newest
from quartet_contracts import ContractError, Message, encode
from quartet_process import BACKGROUND

log = logging.getLogger(__name__)
M = TypeVar("M", bound=Message)
FIELD = b"m"


def queue_full(stream: str, cap: int) -> QueueFullError:
    return QueueFullError(
        f"{cap} entries wait on {stream} already, nothing more is taken; try again when some are done"
    )


def take_replies(stream: Key, count: int = 100) -> TakeEntries:
    """Return the function that takes answers off a stream. Agents write there what they like, so that it is bounded."""
    return TakeEntries(stream, count, queues.RESULT_BYTES, count * queues.RESULT_BYTES)


@dataclass(eq=False)
class Lease:
    """Lease of an entry that this consumer owns; it is renewed in the background until the entry is finished."""

    entry_id: str
    identity: str
    losses: int
    """Losses of the store's data before the entry was taken."""
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when another consumer took the entry over, or the store does not know it any more."""
    finishing: bool = False
    """Whether this consumer stores the result: one that is stored is then no sign of another consumer."""
    forgotten: bool = False
    """Whether the store does not know the entry any more; then nobody else takes it over."""


@dataclass(frozen=True, eq=False)
class Delivery(Generic[M]):
    """Message that a consumer has taken. Its lease is renewed until it is finished."""

    message: M
    redelivered: bool
    """Whether another consumer had it before."""
    started: bool
    """Whether a consumer marked it as started: it may have had effects."""
    lease: Lease

    @property
    def lost(self) -> asyncio.Event:
        """Set when another consumer took the message over, or the store lost it: stop acting on it."""
        return self.lease.lost

    @property
    def forgotten(self) -> bool:
        """Whether the store does not know the message any more, so that nobody else ends its work."""
        return self.lease.forgotten


@dataclass(frozen=True)
class Admitted(Generic[M]):
    """Entry that this consumer is to handle."""

    message: M
    lease: Lease
    redelivered: bool
    started: bool
    begun: bool
    """Whether this consumer has marked it as started in the step that admitted it."""
    canceled: bool
    age_s: float
    """Time since the entry was added [s]."""


class Queue(Part, ABC, Generic[M]):
    """Queue of messages; `kind` separates the identities of skill requests from those of tasks."""

    kind: str
    _writer: str
    """The role that takes entries of this queue."""

    def __init__(self, context: BusContext, dead: DeadLetters, stream: Key, group: str, consumer: str) -> None:
        super().__init__(context)
        self._dead, self._stream, self._group, self._consumer = dead, stream, group, consumer
        self._leases: dict[str, Lease] = {}
        self._renewer: asyncio.Task[None] | None = None
        self._reclaim_due = 0.0
        self._clear_due = 0.0
        self._group_made = False
        self._newest = "0-0"
        """Id of the newest entry that was read."""
        self._disposed = 0
        """Number of entries that were read and not returned: dead letters and duplicates."""

    @abstractmethod
    def _decode(self, data: bytes) -> M: ...

    @abstractmethod
    def _identity(self, message: M) -> tuple[str, float]:
        """Return the id and the deadline of a message."""

    @abstractmethod
    async def _dead_letter(self, entry_id: str, data: bytes, reason: str, message: M | None, started: bool) -> None:
        """Delete an entry that cannot be handled, keep it as a dead letter and answer the caller."""

    @abstractmethod
    async def _answer_duplicate(self, entry_id: str, message: M, done: bytes | None) -> None:
        """Delete a duplicate and answer it with `done`, the result of the original, when there is one."""

    @property
    def consumer(self) -> str:
        return self._consumer

    async def close(self) -> None:
        """Stop renewing; another consumer gets the entries that are not finished once their leases expire."""
        if self._renewer is not None:
            self._renewer.cancel()
            await asyncio.gather(self._renewer, return_exceptions=True)
            self._renewer = None

    async def alive(self) -> int:
        """Count the consumers that asked for work or renewed a lease within the last lease time."""
        return await self._store.run(queues.CountPresent(self._keys.present(self._stream), self._presence_s))

    @property
    def _presence_s(self) -> int:
        return math.ceil(self._options.lease_s) + 1

    async def _note_presence(self) -> None:
        present = self._keys.present(self._stream)
        await self._store.run(queues.NotePresence(present, self._stream, self._group, self._consumer))

    async def _clear_consumers(self) -> None:
        """Remove silent consumers without entries, so that names of old processes do not accumulate."""
        if time.monotonic() < self._clear_due:
            return
        self._clear_due = time.monotonic() + self._options.consumers_s / 2
        for row in await self._store.call("XINFO CONSUMERS", self._stream, self._group):
            if int(row["pending"]) == 0 and int(row["idle"]) > self._options.consumers_s * 1000:
                await self._store.call("XGROUP", "DELCONSUMER", self._stream, self._group, row["name"])

    async def bound_consumers(self) -> None:
        """Remove the consumers when there are more than `consumers`: no honest deployment has so many."""
        bound = queues.BoundConsumers(self._stream, self._group, self._options.consumers)
        if gone := await self._store.run(bound):
            log.error("%d consumers of %s were removed: whoever may read it has named them", gone, self._stream)
            SKIPPED.labels("consumer").inc(gone)

    async def _add(self, message: M) -> str:
        await self._make_group()
        entry_id = await self._store.run(
            AddRequest(self._stream, self._options.queue_entries, encode(message), *self._identity(message))
        )
        if entry_id is None:
            raise queue_full(self._stream, self._options.queue_entries)
        return entry_id

    async def _make_group(self) -> None:
        if self._group_made:
            return
        try:
            await self._store.call("XGROUP", "CREATE", self._stream, self._group, "0", "MKSTREAM")
        except BusServerError as error:
            if error.code != "BUSYGROUP":
                raise
        self._group_made = True

    async def _next(self, block_ms: int | None, begin: bool = False) -> Admitted[M] | None:
        """Reclaim one entry when that is due, else read one. None: there is none, or it was answered here.

        With `begin` one that is read is marked as started in the same step, where the queue can do that.
        """
        try:
            await self._make_group()
            if time.monotonic() >= self._reclaim_due:
                reclaimed = await self._reclaim()
                if reclaimed is not None:
                    return await self._admit(*reclaimed, redelivered=True)
                self._reclaim_due = time.monotonic() + self._options.lease_s / 3
                await self._note_presence()
                await self._clear_consumers()
            if not await self._may_read():
                return None
            answer, newest = await self._read(block_ms, begin)
        except BusServerError as error:
            if error.code != "NOGROUP":
                raise
            self._group_made = False
            await self._store.check_identity()
            return None
        if not answer:
            return None
        entry_id, fields = answer[0][1][0]
        self._newest = entry_id.decode()
        admitted = await self._admit(self._newest, fields, redelivered=False, newest=newest)
        self._disposed += admitted is None
        return admitted

    async def _read(self, block_ms: int | None, begin: bool) -> tuple[Any, Newest | None]:
        """Return the answer of XREADGROUP, and of AdmitNewest when it was called in the same round trip."""
        return await self._store.call(*self._read_command(block_ms)), None

    def _read_command(self, block_ms: int | None) -> Command:
        block = () if block_ms is None else ("BLOCK", block_ms)
        return ("XREADGROUP", "GROUP", self._group, self._consumer, "COUNT", 1, *block, "STREAMS", self._stream, ">")

    async def _may_read(self) -> bool:
        """Return whether a new entry may be taken now."""
        return True

    async def _reclaim(self) -> tuple[str, dict[bytes, bytes]] | None:
        """Claim one entry of a consumer that has been silent for longer than the lease."""
        cursor, lease_ms = b"0-0", round(self._options.lease_s * 1000)
        while True:
            answer = await self._store.call(
                "XAUTOCLAIM", self._stream, self._group, self._consumer, lease_ms, cursor, "COUNT", 1
            )
            cursor, entries = answer[0], answer[1]
            for entry_id, fields in entries:
                if entry_id.decode() not in self._leases and fields:
                    return entry_id.decode(), fields
            if cursor == b"0-0":
                return None

    async def _admit(
        self,
        entry_id: str,
        fields: dict[bytes, bytes],
        *,
        redelivered: bool,
        newest: Newest | None = None,
    ) -> Admitted[M] | None:
        """Return the entry to be handled; None when it was answered here.

        An entry that raises an unexpected error becomes a dead letter: otherwise it would be delivered again after
        each lease and block the entries behind it.
        """
        try:
            return await self._check_entry(entry_id, fields, redelivered, newest)
        except BusUnavailableError:
            # A full store admits no entry. Its deliveries do not count towards the cap.
            with contextlib.suppress(BusUnavailableError):
                await self._reset_deliveries(entry_id)
            raise
        except BusError:
            raise
        except Exception as error:
            log.exception("entry %s of %s cannot be handled and becomes a dead letter", entry_id, self._stream)
            await self._store.transaction(
                self._dead.command(
                    self._writer, self._stream, entry_id, ascii(f"{type(error).__name__}: {error}"), b""
                ),
                ("XACK", self._stream, self._group, entry_id),
                ("XDEL", self._stream, entry_id),
            )
            return None

    async def _check_entry(
        self, entry_id: str, fields: dict[bytes, bytes], redelivered: bool, newest: Newest | None
    ) -> Admitted[M] | None:
        data = fields.get(FIELD)
        if data is None:
            names = ", ".join(sorted(k.decode(errors="replace") for k in fields))
            await self._dead_letter(entry_id, b"", f"the entry has no field 'm', it has: {names}", None, False)
            return None
        try:
            message = self._decode(data)
        except ContractError as error:
            await self._dead_letter(entry_id, data, str(error), None, False)
            return None
        identity, deadline = self._identity(message)
        begun = False
        if newest is not None and (newest.entry_id, newest.request_id) == (entry_id, identity):
            found, begun = newest.admission, newest.begun
        else:
            found = await self._ask_admission(entry_id, identity, deadline)
        if found.done is not None or found.owner != entry_id:
            await self._answer_duplicate(entry_id, message, found.done)
            return None
        if redelivered:
            count = await self._store.run(queues.CountDeliveries(self._stream, self._group, entry_id))
            if count > self._options.delivery_cap:
                reason = f"delivered {count} times without an answer, the cap is {self._options.delivery_cap}"
                await self._dead_letter(entry_id, data, reason, message, found.started)
                return None
        lease = Lease(entry_id, identity, self._store.losses)
        return Admitted(message, lease, redelivered, found.started, begun, found.canceled, found.age_s)

    async def _reset_deliveries(self, entry_id: str) -> None:
        """Count the deliveries of an entry from 1 again."""
        await self._store.run(queues.ResetDeliveries(self._stream, self._group, self._consumer, entry_id))

    async def _ask_admission(self, entry_id: str, identity: str, deadline: float) -> queues.Admission:
        keys = (
            self._keys.owner(self.kind, identity),
            self._keys.done(self.kind, identity),
            self._keys.started(self.kind, identity),
            self._keys.canceled(identity),
        )
        try:
            return await self._store.run(queues.Admit(*keys, entry_id, self._expiry_ms(deadline)))
        except StoreFullError:
            found = await self._store.run(queues.AdmitAgain(*keys))
            if found is None:
                raise
            return found

    def _expiry_ms(self, deadline: float) -> int:
        return round((max(0.0, deadline - time.time()) + self._options.results_s) * 1000)

    def _add_lease(self, lease: Lease) -> None:
        self._leases[lease.entry_id] = lease
        if self._renewer is None:
            self._renewer = BACKGROUND.start("bus-leases", self._renew)

    def _drop_lease(self, lease: Lease) -> None:
        self._leases.pop(lease.entry_id, None)

    async def _start(self, lease: Lease, deadline: float) -> None:
        """Mark an entry as started. Raises LeaseLostError when another consumer has it."""
        marked = await self._store.run(
            queues.MarkStarted(
                stream=self._stream,
                started=self._keys.started(self.kind, lease.identity),
                done=self._keys.done(self.kind, lease.identity),
                group=self._group,
                consumer=self._consumer,
                entry_id=lease.entry_id,
                expiry_ms=self._expiry_ms(deadline),
            )
        )
        if not marked:
            lease.lost.set()
            self._drop_lease(lease)
            raise LeaseLostError(f"{self.kind} '{lease.identity}' was taken over by another consumer; do not act on it")

    async def _complete(self, lease: Lease, result: bytes, reply_to: str) -> bool:
        """Store the result, answer and acknowledge in one step. False: another consumer had answered."""
        lease.finishing = True
        fields: dict[str, Any] = {
            "stream": self._stream,
            "done": self._keys.done(self.kind, lease.identity),
            "reply_to": Key(reply_to) if reply_to else None,
            "group": self._group,
            "entry_id": lease.entry_id,
            "result": result,
            "expiry_ms": round(self._options.results_s * 1000),
            "channel": self._keys.signal(reply_to),
        }
        stands = await self._store.run(queues.Finish(**fields))
        if stands < 0:
            stands = await self._store.run(queues.FinishForgotten(**fields))
        self._drop_lease(lease)
        return bool(stands)

    async def _renew(self) -> None:
        backoff = Backoff(f"lease of {self._stream}")
        while True:
            await asyncio.sleep(self._options.lease_s / 3)
            if not self._leases:
                continue
            try:
                await self._note_presence()
            except BusError as error:
                # A full Redis refuses presence but still renews leases.
                await backoff.failed(error)
            for lease in list(self._leases.values()):
                if lease.losses != self._store.losses:
                    self._forget(lease)
                    continue
                try:
                    done = self._keys.done(self.kind, lease.identity)
                    kept = await self._store.run(
                        queues.RenewLease(self._stream, self._group, self._consumer, lease.entry_id, done)
                    )
                    backoff.worked()
                except BusError as error:
                    await backoff.failed(error)
                    continue
                if lease.entry_id not in self._leases:
                    continue
                if kept == 0 and not lease.finishing:
                    log.warning("%s '%s' was taken over by another consumer", self.kind, lease.identity)
                    lease.lost.set()
                    self._drop_lease(lease)
                elif kept < 0:
                    self._forget(lease)
                    with contextlib.suppress(BusError):
                        await self._store.check_identity()

    def _forget(self, lease: Lease) -> None:
        """End a lease of which the store knows nothing: without it nobody can cancel the work or take it over."""
        log.error("%s '%s' is not in Redis any more; its work ends", self.kind, lease.identity)
        lease.forgotten = True
        lease.lost.set()
        self._drop_lease(lease)
