"""The request stream of one skill, as a replica of the agent sees it and as the orchestrator sees it."""

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Any

from quartet_bus import _scripts
from quartet_bus._keys import Keys
from quartet_bus._queue import FIELD, Admitted, Delivery, Queue
from quartet_bus._store import Patience, Reader, Store
from quartet_bus.dead_letters import DeadLetters
from quartet_bus.errors import BusUnavailable, LeaseLost
from quartet_bus.options import BusOptions
from quartet_bus.signals import Signals
from quartet_contracts import RESULTS, MalformedMessage, Skill, SkillRequest, SkillResult, State, decode, encode
from quartet_contracts.rescue import unknown_result, unreadable_request
from quartet_process import redact_bytes

log = logging.getLogger(__name__)


class SkillDelivery(Delivery[SkillRequest]):
    """A request taken from the stream. One that was `started` before is never run again, only settled by looking."""

    @property
    def request(self) -> SkillRequest:
        return self.message


@dataclass(frozen=True)
class Progress:
    """How far a request has got."""

    result: SkillResult | None
    taken: bool
    started: bool
    alive: int
    """Replicas that could take it."""


class SkillQueue(Queue[SkillRequest]):
    def __init__(
        self,
        store: Store,
        keys: Keys,
        options: BusOptions,
        dead: DeadLetters,
        signals: Signals,
        skill: Skill,
        consumer: str,
    ) -> None:
        super().__init__(store, keys, options, dead, keys.skill_stream(skill), str(skill), consumer)
        self.skill = skill
        # With the skill, so that an agent's user in Redis may settle requests of its own kind only.
        self.kind = f"skill:{skill}"
        self._signals = signals
        self._reader: Reader | None = None
        self._taking = asyncio.Lock()
        self._patience = Patience(f"requests for {skill}")

    async def submit(self, request: SkillRequest) -> str:
        """Put a request on the stream and return its entry id."""
        if request.skill != self.skill:
            raise ValueError(f"a request for '{request.skill}' does not belong on the stream of '{self.skill}'")
        return await self._add(encode(request))

    async def take(self, timeout_s: float | None = None) -> SkillDelivery | None:
        """The next request, or None after `timeout_s` without one (None: wait for ever).

        Requests that are malformed, duplicates, expired or canceled before the start are answered here and never
        returned. One caller at a time; a second one waits for the first. Outlives a restart of Redis.
        """
        async with self._taking:
            return await self._take(timeout_s)

    async def _take(self, timeout_s: float | None) -> SkillDelivery | None:
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0 and timeout_s != 0:
                return None
            try:
                delivery = await self._take_once(self._block_ms(left))
                self._patience.worked()
            except BusUnavailable as error:
                await self._patience.failed(error)
                continue
            if delivery is not None or timeout_s == 0:
                return delivery

    def _block_ms(self, left_s: float | None) -> int | None:
        limit = min(self._options.block_ms, max(1, round(self._options.lease_s * 333)))
        if left_s is None:
            return limit
        return min(limit, round(left_s * 1000)) or None if left_s > 0 else None

    async def _take_once(self, block_ms: int | None) -> SkillDelivery | None:
        admitted: Admitted[SkillRequest] | None = await self._next(block_ms)
        if admitted is None:
            return None
        request, lease = admitted.message, admitted.lease
        if not admitted.started:
            if admitted.canceled:
                result = unknown_result(request, "canceled before it was started", State.CANCELED)
                await self._complete(lease, redact_bytes(encode(result)), request.reply_to)
                return None
            if request.deadline <= time.time():
                late = time.time() - request.deadline
                result = unknown_result(request, f"its deadline had passed {late:.1f} s before it was taken")
                await self._complete(lease, redact_bytes(encode(result)), request.reply_to)
                return None
        self._hold(lease)
        return SkillDelivery(request, admitted.redelivered, admitted.started, lease)

    async def _read(self, block_ms: int | None) -> tuple[Any, list[Any] | None]:
        """Both in one way there and back: a request waits for each of them."""
        if self._reader is None:
            self._reader = self._store.reader()
        keys = (self._keys.owner, self._keys.done, self._keys.started)
        return await self._reader.then(
            self._read_command(block_ms),
            _scripts.ADMIT_READ,
            [self._stream],
            self._group,
            self._consumer,
            *(key(self.kind, "") for key in keys),
            self._keys.canceled(""),
            round(self._options.results_s * 1000),
        )

    async def mark_started(self, delivery: SkillDelivery) -> None:
        """Durable before the first effect. Raises LeaseLost when another replica has the request now."""
        if delivery.lost.is_set():
            raise LeaseLost(f"request '{delivery.request.request_id}' was taken over by another replica")
        await self._start(delivery.lease, delivery.request.deadline)

    async def finish(self, delivery: SkillDelivery, result: SkillResult) -> bool:
        """Answer and acknowledge in one step. False: another replica had answered, whose result stands."""
        request = delivery.request
        if result.request_id != request.request_id or result.skill != self.skill:
            raise ValueError(
                f"the result is for {result.skill} '{result.request_id}', "
                f"the request is {request.skill} '{request.request_id}'"
            )
        return await self._complete(delivery.lease, redact_bytes(encode(result)), request.reply_to)

    async def result(self, request_id: str) -> SkillResult | None:
        """The result of a request of the last hour, if it has one."""
        data = await self._store.call("GET", self._keys.done(self.kind, request_id))
        return None if data is None else decode(RESULTS[self.skill], data)

    async def progress(self, request_id: str) -> "Progress":
        """How far a request has got, in one round trip."""
        keys = [
            self._keys.done(self.kind, request_id),
            self._keys.owner(self.kind, request_id),
            self._keys.started(self.kind, request_id),
            self._keys.present(self._stream),
        ]
        done, taken, started, alive = await self._store.script(_scripts.LOOK_UP, keys, self._presence_s)
        result = None if done is None else decode(RESULTS[self.skill], done)
        return Progress(result, bool(taken), bool(started), int(alive))

    async def was_taken(self, request_id: str) -> bool:
        return bool(await self._store.call("EXISTS", self._keys.owner(self.kind, request_id)))

    async def withdraw(self, entry_id: str, request: SkillRequest, reason: str) -> bool:
        """Take a request back. False: a replica has it or has answered."""
        result = unknown_result(request, reason)
        keys = [
            self._stream,
            self._keys.owner(self.kind, request.request_id),
            self._keys.done(self.kind, request.request_id),
        ]
        expiry = round(self._options.results_s * 1000)
        return bool(await self._store.script(_scripts.WITHDRAW, keys, entry_id, redact_bytes(encode(result)), expiry))

    async def cancel(self, request_id: str) -> None:
        """Ask for an end. Idempotent; whoever runs it answers CANCELED when the robot stands.

        A store that is full takes it too.
        """
        expiry, channel = round(self._options.results_s * 1000), self._keys.signal(f"cancel:{request_id}")
        await self._store.script(_scripts.CANCEL, [self._keys.canceled(request_id)], "1", expiry, channel)

    async def canceled(self, request_id: str) -> None:
        """Returns when the request is canceled; waits for ever otherwise."""
        async with self._signals.listen(f"cancel:{request_id}") as bell:
            while True:
                try:
                    if await self._store.call("EXISTS", self._keys.canceled(request_id)):
                        return
                except BusUnavailable as error:
                    log.debug("cancel of %s: %s", request_id, error)
                await bell.wait()

    async def close(self) -> None:
        await super().close()
        if self._reader is not None:
            await self._store.close_reader(self._reader)
            self._reader = None

    def _decode(self, data: bytes) -> SkillRequest:
        request = decode(SkillRequest, data)
        if request.skill != self.skill:
            raise MalformedMessage(f"the request is for '{request.skill}', this is the stream of '{self.skill}'")
        if not self._may_answer(request.reply_to):
            raise MalformedMessage(
                f"reply_to '{request.reply_to}' is not a reply stream '{self._keys.replies(self.skill, '<name>')}'"
            )
        return request

    def _may_answer(self, reply_to: str) -> bool:
        mine = self._keys.replies(self.skill, "")
        return reply_to.startswith(mine) and reply_to != mine

    def _identity(self, message: SkillRequest) -> tuple[str, float]:
        return message.request_id, message.deadline

    async def _repeat(self, entry_id: str, message: SkillRequest, done: bytes | None) -> None:
        log.info("duplicate of request %s", message.request_id)
        commands: list[tuple[Any, ...]] = [
            ("XACK", self._stream, self._group, entry_id),
            ("XDEL", self._stream, entry_id),
        ]
        if done is not None:
            commands.insert(0, ("XADD", message.reply_to, "MAXLEN", "~", 10_000, "*", FIELD, done))
            commands.append(("PEXPIRE", message.reply_to, round(self._options.results_s * 1000)))
        await self._store.transaction(*commands)

    async def _bury(self, entry_id: str, data: bytes, reason: str, message: SkillRequest | None, started: bool) -> None:
        log.error("dead letter on %s, entry %s: %s", self._stream, entry_id, reason)
        commands: list[tuple[Any, ...]] = [
            self._dead.command(self._stream, entry_id, reason, data),
            ("XACK", self._stream, self._group, entry_id),
            ("XDEL", self._stream, entry_id),
        ]
        if message is None:
            answer = unreadable_request(self.skill, data, reason)
            if answer is not None and not self._may_answer(answer[0]):
                answer = None
        else:
            state = State.UNCERTAIN if started else State.FAILED
            answer = (message.reply_to, unknown_result(message, reason, state))
        if answer is not None:
            reply_to, result = answer
            expiry = round(self._options.results_s * 1000)
            body = redact_bytes(encode(result))
            commands.append(("SET", self._keys.done(self.kind, result.request_id), body, "PX", expiry, "NX"))
            commands.append(("XADD", reply_to, "MAXLEN", "~", 10_000, "*", FIELD, body))
            commands.append(("PEXPIRE", reply_to, expiry))
        await self._store.transaction(*commands)
