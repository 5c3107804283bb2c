"""A stream with one consumer group: take, lease, reclaim, finish. Skills and tasks are both such queues."""

import asyncio
import contextlib
import logging
import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from redis.exceptions import RedisError, ResponseError

from quartet_bus import _scripts
from quartet_bus._keys import Keys
from quartet_bus._link import Command
from quartet_bus._store import Patience, Store
from quartet_bus.dead_letters import DeadLetters
from quartet_bus.errors import BusError, BusUnavailable, LeaseLost, QueueFull
from quartet_bus.options import BusOptions
from quartet_contracts import ContractError, Message

log = logging.getLogger(__name__)
M = TypeVar("M", bound=Message)
FIELD = b"m"


def queue_full(stream: str, cap: int) -> QueueFull:
    return QueueFull(f"{cap} entries wait on {stream} already, nothing more is taken; try again when some are done")


@dataclass(eq=False)
class Lease:
    """An entry that this consumer holds; it is renewed in the background until the entry is finished."""

    entry_id: str
    identity: str
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when another consumer took the entry over."""


@dataclass(frozen=True, eq=False)
class Delivery(Generic[M]):
    """What a consumer was given. Its lease is kept alive until it is finished."""

    message: M
    redelivered: bool
    """Another consumer had it before."""
    started: bool
    """Somebody marked it as started: it may have had effects."""
    lease: Lease

    @property
    def lost(self) -> asyncio.Event:
        """Set when another consumer took the message over: stop acting on it."""
        return self.lease.lost


@dataclass(frozen=True)
class Admitted(Generic[M]):
    message: M
    lease: Lease
    redelivered: bool
    started: bool
    canceled: bool


class Queue(ABC, Generic[M]):
    """`kind` separates the identities of skill requests from those of tasks."""

    kind: str

    def __init__(
        self, store: Store, keys: Keys, options: BusOptions, dead: DeadLetters, stream: str, group: str, consumer: str
    ) -> None:
        self._store = store
        self._keys = keys
        self._options = options
        self._dead = dead
        self._stream = stream
        self._group = group
        self._consumer = consumer
        self._held: dict[str, Lease] = {}
        self._renewer: asyncio.Task[None] | None = None
        self._reclaim_due = 0.0
        self._clear_due = 0.0
        self._group_made = False
        self._disposed = 0
        """Entries that were read and handled here: buried, or known already."""

    @abstractmethod
    def _decode(self, data: bytes) -> M: ...

    @abstractmethod
    def _identity(self, message: M) -> tuple[str, float]:
        """Its id and its deadline."""

    @abstractmethod
    async def _bury(self, entry_id: str, data: bytes, reason: str, message: M | None, started: bool) -> None:
        """Take the entry off the stream for good and tell whoever waits for it."""

    @abstractmethod
    async def _repeat(self, entry_id: str, message: M, done: bytes | None) -> None:
        """The entry is a duplicate; `done` is the result of the original when there is one."""

    @property
    def consumer(self) -> str:
        return self._consumer

    async def close(self) -> None:
        """Stop renewing; entries still held go to another consumer after the lease."""
        if self._renewer is not None:
            self._renewer.cancel()
            await asyncio.gather(self._renewer, return_exceptions=True)
            self._renewer = None

    async def alive(self) -> int:
        """Consumers that asked for work or renewed a lease within the last lease time."""
        keys = [self._keys.present(self._stream)]
        return int(await self._store.script(_scripts.COUNT_PRESENT, keys, self._presence_s))

    @property
    def _presence_s(self) -> int:
        return math.ceil(self._options.lease_s) + 1

    async def _be_present(self) -> None:
        await self._store.script(_scripts.PRESENT, [self._keys.present(self._stream)], self._consumer)

    async def _clear_consumers(self) -> None:
        """Remove consumers that are gone and hold nothing, so that names of old processes do not pile up."""
        if time.monotonic() < self._clear_due:
            return
        self._clear_due = time.monotonic() + self._options.consumers_s / 2
        for row in await self._store.call("XINFO CONSUMERS", self._stream, self._group):
            if int(row["pending"]) == 0 and int(row["idle"]) > self._options.consumers_s * 1000:
                await self._store.call("XGROUP", "DELCONSUMER", self._stream, self._group, row["name"])

    async def _add(self, data: bytes) -> str:
        await self._make_group()
        entry_id = await self._store.script(_scripts.ADD, [self._stream], self._options.queue_entries, data)
        if entry_id is None:
            raise queue_full(self._stream, self._options.queue_entries)
        return entry_id.decode()

    async def _make_group(self) -> None:
        if self._group_made:
            return
        try:
            await self._store.call("XGROUP", "CREATE", self._stream, self._group, "0", "MKSTREAM")
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise
        self._group_made = True

    async def _next(self, block_ms: int | None) -> Admitted[M] | None:
        """One reclaim when due, else one read. None: nothing there, or nothing to be handled here."""
        try:
            await self._make_group()
            if time.monotonic() >= self._reclaim_due:
                reclaimed = await self._reclaim()
                if reclaimed is not None:
                    return await self._admit(*reclaimed, redelivered=True)
                self._reclaim_due = time.monotonic() + self._options.lease_s / 3
                await self._be_present()
                await self._clear_consumers()
            if not await self._may_read():
                return None
            answer, admission = await self._read(block_ms)
        except ResponseError as error:
            if "NOGROUP" not in str(error) and "UNBLOCKED" not in str(error):
                raise
            self._group_made = False
            return None
        if not answer:
            return None
        entry_id, fields = answer[0][1][0]
        admitted = await self._admit(entry_id.decode(), fields, redelivered=False, admission=admission)
        self._disposed += admitted is None
        return admitted

    async def _read(self, block_ms: int | None) -> tuple[Any, list[Any] | None]:
        """What XREADGROUP answers, and what ADMIT_READ says of the entry where it was asked in one go."""
        return await self._store.call(*self._read_command(block_ms)), None

    def _read_command(self, block_ms: int | None) -> Command:
        block = () if block_ms is None else ("BLOCK", block_ms)
        return ("XREADGROUP", "GROUP", self._group, self._consumer, "COUNT", 1, *block, "STREAMS", self._stream, ">")

    async def _may_read(self) -> bool:
        """Whether a new entry may be taken now."""
        return True

    async def _reclaim(self) -> tuple[str, dict[bytes, bytes]] | None:
        """One entry of a consumer that is silent for longer than the lease."""
        cursor, lease_ms = b"0-0", round(self._options.lease_s * 1000)
        while True:
            answer = await self._store.call(
                "XAUTOCLAIM", self._stream, self._group, self._consumer, lease_ms, cursor, "COUNT", 1
            )
            cursor, entries = answer[0], answer[1]
            for entry_id, fields in entries:
                if entry_id.decode() not in self._held and fields:
                    return entry_id.decode(), fields
            if cursor == b"0-0":
                return None

    async def _admit(
        self,
        entry_id: str,
        fields: dict[bytes, bytes],
        *,
        redelivered: bool,
        admission: list[Any] | None = None,
    ) -> Admitted[M] | None:
        """The entry for a consumer to handle. None: it was handled here.

        Whatever an entry does to who reads it, it is put aside then: it would come again after each lease and keep
        everything behind it waiting.
        """
        try:
            return await self._judge(entry_id, fields, redelivered, admission)
        except BusUnavailable:
            # A store that is full admits nothing, however often: that makes no poison of what waits for room.
            with contextlib.suppress(BusUnavailable):
                await self._count_anew(entry_id)
            raise
        except (BusError, RedisError):
            raise
        except Exception as error:
            log.exception("entry %s of %s is put aside", entry_id, self._stream)
            await self._store.transaction(
                self._dead.command(self._stream, entry_id, ascii(f"{type(error).__name__}: {error}"), b""),
                ("XACK", self._stream, self._group, entry_id),
                ("XDEL", self._stream, entry_id),
            )
            return None

    async def _judge(
        self, entry_id: str, fields: dict[bytes, bytes], redelivered: bool, admission: list[Any] | None
    ) -> Admitted[M] | None:
        data = fields.get(FIELD)
        if data is None:
            names = ", ".join(sorted(k.decode(errors="replace") for k in fields))
            await self._bury(entry_id, b"", f"the entry has no field 'm', it has: {names}", None, False)
            return None
        try:
            message = self._decode(data)
        except ContractError as error:
            await self._bury(entry_id, data, str(error), None, False)
            return None
        identity, deadline = self._identity(message)
        if admission is not None and admission[:2] == [entry_id.encode(), identity.encode()]:
            owner, done, started, canceled = admission[2:]
        else:
            owner, done, started, canceled = await self._ask_admission(entry_id, identity, deadline)
        if done is not None or owner.decode() != entry_id:
            await self._repeat(entry_id, message, done)
            return None
        if redelivered:
            count = int(await self._store.script(_scripts.PENDING_COUNT, [self._stream], self._group, entry_id))
            if count > self._options.delivery_cap:
                reason = f"delivered {count} times without an answer, the cap is {self._options.delivery_cap}"
                await self._bury(entry_id, data, reason, message, bool(started))
                return None
        return Admitted(message, Lease(entry_id, identity), redelivered, bool(started), bool(canceled))

    async def _count_anew(self, entry_id: str) -> None:
        """Count the entry's deliveries from here."""
        await self._store.script(_scripts.PROGRESSED, [self._stream], self._group, self._consumer, entry_id)

    async def _ask_admission(self, entry_id: str, identity: str, deadline: float) -> list[Any]:
        keys = [
            self._keys.owner(self.kind, identity),
            self._keys.done(self.kind, identity),
            self._keys.started(self.kind, identity),
            self._keys.canceled(identity),
        ]
        return await self._store.script(_scripts.ADMIT, keys, entry_id, self._expiry_ms(deadline))

    def _expiry_ms(self, deadline: float) -> int:
        return round((max(0.0, deadline - time.time()) + self._options.results_s) * 1000)

    def _hold(self, lease: Lease) -> None:
        self._held[lease.entry_id] = lease
        if self._renewer is None:
            self._renewer = asyncio.create_task(self._renew(), name=f"bus-lease-{self._stream}")

    def _let_go(self, lease: Lease) -> None:
        self._held.pop(lease.entry_id, None)

    async def _start(self, lease: Lease, deadline: float) -> None:
        """Mark as started. Raises LeaseLost when somebody else has the entry."""
        keys = [
            self._stream,
            self._keys.started(self.kind, lease.identity),
            self._keys.done(self.kind, lease.identity),
        ]
        marked = await self._store.script(
            _scripts.START, keys, self._group, self._consumer, lease.entry_id, self._expiry_ms(deadline)
        )
        if not marked:
            lease.lost.set()
            self._let_go(lease)
            raise LeaseLost(f"{self.kind} '{lease.identity}' was taken over by another consumer; do not act on it")

    async def _complete(self, lease: Lease, result: bytes, reply_to: str) -> bool:
        """Result, answer and acknowledgement in one step. False: another consumer had answered."""
        keys = [self._stream, self._keys.done(self.kind, lease.identity), *([reply_to] if reply_to else [])]
        expiry = round(self._options.results_s * 1000)
        first = await self._store.script(_scripts.FINISH, keys, self._group, lease.entry_id, result, expiry)
        self._let_go(lease)
        return bool(first)

    async def _renew(self) -> None:
        patience = Patience(f"lease of {self._stream}")
        while True:
            await asyncio.sleep(self._options.lease_s / 3)
            if not self._held:
                continue
            try:
                await self._be_present()
            except BusUnavailable as error:
                # A Redis that is full takes no presence, and leases all the same.
                await patience.failed(error)
            for lease in list(self._held.values()):
                try:
                    keys = [self._stream, self._keys.done(self.kind, lease.identity)]
                    kept = await self._store.script(_scripts.RENEW, keys, self._group, self._consumer, lease.entry_id)
                    patience.worked()
                except BusUnavailable as error:
                    await patience.failed(error)
                    continue
                if kept == 0 and lease.entry_id in self._held:
                    log.warning("%s '%s' was taken over by another consumer", self.kind, lease.identity)
                    lease.lost.set()
                    self._let_go(lease)
