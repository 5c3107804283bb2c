"""Request stream of one skill, as replicas of the agent and the orchestrator use it."""

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Any

from quartet_bus._dead_letters import DeadLetters
from quartet_bus._part import BusContext
from quartet_bus._queue import FIELD, Admitted, Delivery, Queue
from quartet_bus._store import Backoff, Reader
from quartet_bus.errors import BusError, BusUnavailableError, LeaseLostError
from quartet_bus.functions.queues import Cancel, SettlePresence
from quartet_bus.functions.requests import AdmitNewest, LookUp, Newest, Withdraw
from quartet_contracts import (
    MAX_MESSAGE_BYTES,
    RESULTS,
    MalformedMessageError,
    MessageTooLargeError,
    Skill,
    SkillRequest,
    SkillResult,
    State,
    decode,
    encode,
)
from quartet_contracts.skills import unknown_result, unreadable_request
from quartet_process import boot_time, redact_bytes

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class SkillDelivery(Delivery[SkillRequest]):
    """Request taken from the stream. One that was `started` before is not run again; its outcome is observed."""

    begun: bool
    """Whether the take that returned it has marked it as started."""
    made_at: float
    """Time at which it was made, as boot_time() of this process counts [s]."""

    @property
    def request(self) -> SkillRequest:
        """The request itself."""
        return self.message

    @property
    def age_s(self) -> float:
        """Time since it was made [s]: clocks of different machines are not compared."""
        return boot_time() - self.made_at


@dataclass(frozen=True)
class Progress:
    """Progress of a request."""

    result: SkillResult | None
    taken: bool
    started: bool
    alive: int
    """Number of replicas that could take it."""


class SkillQueue(Queue[SkillRequest]):
    """Request queue of one skill."""

    def __init__(self, context: BusContext, dead: DeadLetters, skill: Skill) -> None:
        super().__init__(context, dead, context.keys.skill_stream(skill), str(skill), context.replica)
        self.skill = skill
        # With the skill, so that an agent's user in Redis may settle requests of its own kind only.
        self.kind = f"skill:{skill}"
        self._writer = str(skill)
        self._reader: Reader | None = None
        self._taking = asyncio.Lock()
        self._backoff = Backoff(f"requests for {skill}")

    async def submit(self, request: SkillRequest) -> str:
        """Put a request on the stream and return its entry id."""
        if request.skill != self.skill:
            raise ValueError(f"a request for '{request.skill}' does not belong on the stream of '{self.skill}'")
        return await self._add(request)

    async def take(self, timeout_s: float | None = None, *, begin: bool = False) -> SkillDelivery | None:
        """Return the next request, or None after `timeout_s` without one (None: no limit).

        Requests that are malformed, duplicates, expired or canceled before the start are answered here and never
        returned. One caller at a time; a second one waits for the first. Waits while Redis is away.

        With `begin` a request that nobody had before is marked as started in the same step, which saves a round trip.
        It is for a caller that runs at once what it takes: a request that is lost on the way to it counts as
        started, so that its outcome is observed.
        """
        async with self._taking:
            return await self._take(timeout_s, begin)

    async def _take(self, timeout_s: float | None, begin: bool) -> SkillDelivery | None:
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0 and timeout_s != 0:
                return None
            try:
                delivery = await self._take_once(self._block_ms(left), begin)
                self._backoff.worked()
            except BusError as error:
                await self._backoff.failed(error)
                continue
            if delivery is not None or timeout_s == 0:
                return delivery

    def _block_ms(self, left_s: float | None) -> int | None:
        limit = min(self._options.block_ms, max(1, round(self._options.lease_s * 333)))
        if left_s is None:
            return limit
        return min(limit, round(left_s * 1000)) or None if left_s > 0 else None

    async def _take_once(self, block_ms: int | None, begin: bool) -> SkillDelivery | None:
        admitted: Admitted[SkillRequest] | None = await self._next(block_ms, begin)
        if admitted is None:
            return None
        request, lease = admitted.message, admitted.lease
        age_s = request.age_s + admitted.age_s
        if not admitted.started:
            if admitted.canceled:
                result = unknown_result(request, "canceled before it was started", State.CANCELED)
                await self._complete(lease, redact_bytes(encode(result)), request.reply_to)
                return None
            late = age_s - (request.deadline - request.created_at)
            if late >= 0:
                result = unknown_result(request, f"its deadline had passed {late:.1f} s before it was taken")
                await self._complete(lease, redact_bytes(encode(result)), request.reply_to)
                return None
        self._add_lease(lease)
        made_at = boot_time() - age_s
        return SkillDelivery(request, admitted.redelivered, admitted.started, lease, admitted.begun, made_at)

    async def _read(self, block_ms: int | None, begin: bool) -> tuple[Any, Newest | None]:
        """Read and admit in one round trip, to shorten the latency of a request."""
        if self._reader is None:
            self._reader = self._store.reader()
        admit = AdmitNewest(
            stream=self._stream,
            group=self._group,
            consumer=self._consumer,
            owner=self._keys.owner(self.kind, ""),
            done=self._keys.done(self.kind, ""),
            started=self._keys.started(self.kind, ""),
            canceled=self._keys.canceled(""),
            kept_ms=round(self._options.results_s * 1000),
            begin=int(begin),
            after=self._newest,
        )
        return await self._reader.then(self._read_command(block_ms), admit)

    async def mark_started(self, delivery: SkillDelivery) -> None:
        """Persist the start, before the first effect, unless `take` has.

        Raises LeaseLostError when another replica has the request.
        """
        if delivery.lost.is_set():
            raise LeaseLostError(f"request '{delivery.request.request_id}' was taken over by another replica")
        if not delivery.begun:
            await self._start(delivery.lease, delivery.request.deadline)

    async def finish(self, delivery: SkillDelivery, result: SkillResult) -> bool:
        """Answer and acknowledge in one step. False: another replica had answered, whose result stands."""
        request = delivery.request
        if result.request_id != request.request_id or result.skill != self.skill:
            raise ValueError(
                f"the result is for {result.skill} '{result.request_id}', "
                f"the request is {request.skill} '{request.request_id}'"
            )
        try:
            body = encode(result)
        except MessageTooLargeError as error:
            # The request must end all the same; what was done is settled by looking.
            log.error("result of %s: %s", request.request_id, error)
            reason = f"its result ({result.error_code}) was too large to be sent: {error}"
            body = encode(unknown_result(request, reason, State.UNCERTAIN))
        return await self._complete(delivery.lease, redact_bytes(body), request.reply_to)

    async def result(self, request_id: str) -> SkillResult | None:
        """Return the stored result of a request, None without one."""
        data = await self._store.call("GETRANGE", self._keys.done(self.kind, request_id), 0, MAX_MESSAGE_BYTES)
        return decode(RESULTS[self.skill], data) if data else None

    async def progress(self, request_id: str) -> "Progress":
        """Return the progress of a request, in one round trip."""
        present = self._keys.present(self._stream)
        done, taken, started, alive, in_the_future = await self._store.run(
            LookUp(
                done=self._keys.done(self.kind, request_id),
                owner=self._keys.owner(self.kind, request_id),
                started=self._keys.started(self.kind, request_id),
                present=present,
                seconds=self._presence_s,
                most_bytes=MAX_MESSAGE_BYTES,
            )
        )
        if in_the_future:
            await self._store.run(SettlePresence(present, self._stream, self._group))
        return Progress(None if done is None else decode(RESULTS[self.skill], done), taken, started, alive)

    async def withdraw(self, entry_id: str, request: SkillRequest, reason: str) -> bool:
        """Withdraw a request. False: a replica has taken or answered it."""
        result = unknown_result(request, reason)
        return await self._store.run(
            Withdraw(
                stream=self._stream,
                owner=self._keys.owner(self.kind, request.request_id),
                done=self._keys.done(self.kind, request.request_id),
                entry_id=entry_id,
                result=redact_bytes(encode(result)),
                expiry_ms=round(self._options.results_s * 1000),
            )
        )

    async def cancel(self, request_id: str) -> None:
        """Cancel a request. Idempotent; the agent that runs it answers CANCELED when the robot stands still.

        Works on a full store too.
        """
        expiry, channel = round(self._options.results_s * 1000), self._keys.signal(f"cancel:{request_id}")
        await self._store.run(Cancel(self._keys.canceled(request_id), "1", expiry, channel))

    async def canceled(self, request_id: str) -> None:
        """Wait until the request is canceled."""
        async with self._notifications.listen(f"cancel:{request_id}") as wakeup:
            while True:
                try:
                    if await self._store.call("EXISTS", self._keys.canceled(request_id)):
                        return
                except BusUnavailableError as error:
                    log.debug("cancel of %s: %s", request_id, error)
                await wakeup.wait()

    async def close(self) -> None:
        """Stop renewing and reading; another replica gets the taken requests once their leases expire."""
        await super().close()
        if self._reader is not None:
            await self._store.close_reader(self._reader)
            self._reader = None

    def _decode(self, data: bytes) -> SkillRequest:
        request = decode(SkillRequest, data)
        if request.skill != self.skill:
            raise MalformedMessageError(f"the request is for '{request.skill}', this is the stream of '{self.skill}'")
        if not self._may_answer(request.reply_to):
            raise MalformedMessageError(
                f"reply_to '{request.reply_to}' is not a reply stream '{self._keys.replies(self.skill, '<name>')}'"
            )
        return request

    def _may_answer(self, reply_to: str) -> bool:
        mine = self._keys.replies(self.skill, "")
        return reply_to.startswith(mine) and reply_to != mine

    def _identity(self, message: SkillRequest) -> tuple[str, float]:
        return message.request_id, message.deadline

    async def _answer_duplicate(self, entry_id: str, message: SkillRequest, done: bytes | None) -> None:
        log.info("duplicate of request %s", message.request_id)
        commands: list[tuple[Any, ...]] = [
            ("XACK", self._stream, self._group, entry_id),
            ("XDEL", self._stream, entry_id),
        ]
        if done is not None:
            commands.insert(0, ("XADD", message.reply_to, "MAXLEN", "~", 10_000, "*", FIELD, done))
            commands.append(("PEXPIRE", message.reply_to, round(self._options.results_s * 1000)))
            commands.append(self._notifications.command(message.reply_to))
        await self._store.transaction(*commands)

    async def _dead_letter(
        self, entry_id: str, data: bytes, reason: str, message: SkillRequest | None, started: bool
    ) -> None:
        log.error("dead letter on %s, entry %s: %s", self._stream, entry_id, reason)
        commands: list[tuple[Any, ...]] = [
            self._dead.command(self._writer, self._stream, entry_id, reason, data),
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
            commands.append(self._notifications.command(reply_to))
        await self._store.transaction(*commands)
