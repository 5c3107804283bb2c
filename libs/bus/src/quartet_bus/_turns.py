"""Streams of a team's discussion: the orchestrator asks for turns and for the output of programs, agents answer."""

import time
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from quartet_bus._dead_letters import DeadLetters
from quartet_bus._keys import Key
from quartet_bus._notifications import POLL_S
from quartet_bus._part import BusContext
from quartet_bus._queue import FIELD, Delivery, Queue, take_replies
from quartet_bus._store import Backoff, Reader
from quartet_bus.errors import BusError, NoAnswerError
from quartet_bus.functions.requests import Newest
from quartet_contracts import (
    MAX_CALCULATED,
    MalformedMessageError,
    ProgramAnswer,
    ProgramRequest,
    Skill,
    TeamRequest,
    TurnAnswer,
    TurnRequest,
    decode,
    encode,
)
from quartet_process import boot_time, redact_bytes

SPEAKER = Skill.APPROACH
"""The agents whose processes speak for robots."""
Asked = TypeVar("Asked", bound=TeamRequest)
Told = TypeVar("Told", TurnAnswer, ProgramAnswer)


@dataclass(frozen=True, eq=False)
class TeamDelivery(Delivery[Asked]):
    """Request taken from the stream."""

    made_at: float
    """Time at which it was made, as boot_time() of this process counts [s]."""

    @property
    def left_s(self) -> float:
        """Time that is left for an answer [s]: clocks of different machines are not compared."""
        return self.made_at + self.message.deadline - self.message.created_at - boot_time()


class TeamQueue(Queue[Asked], Generic[Asked, Told]):
    """Requests of a team that move nothing: one whose process died is simply taken again."""

    _request: type[Asked]
    _answer: type[Told]
    _absent: ClassVar[str]
    """What no process does, in an error."""

    def __init__(self, context: BusContext, dead: DeadLetters, stream: Key, group: str) -> None:
        super().__init__(context, dead, stream, group, context.replica)
        self._reader: Reader | None = None
        self._backoff = Backoff(f"{self.kind}s of teams")

    def reply_stream(self, request_id: str) -> str:
        """Return the stream on which the answer to this request comes."""
        return self._keys.replies(self.kind, request_id)

    async def ask(self, request: Asked, absent_after_s: float) -> Told:
        """Return the answer to a request.

        Raises NoAnswerError after its deadline, and when for `absent_after_s` [s] no process that answers was there.
        """
        end = boot_time() + request.deadline - request.created_at
        await self._add(request)
        last_seen = time.monotonic()
        async with self._notifications.listen(request.reply_to) as wakeup:
            while True:
                left_s = end - boot_time()
                if left_s <= 0:
                    raise NoAnswerError(
                        f"the {self.kind} of '{request.robot}' got no answer in time", taken=False, started=False
                    )
                if await self.alive():
                    last_seen = time.monotonic()
                elif time.monotonic() - last_seen > absent_after_s:
                    raise NoAnswerError(
                        f"no process {self._absent} '{request.robot}' (is the {self._writer} agent running?)",
                        taken=False,
                        started=False,
                    )
                await wakeup.wait(min(left_s, absent_after_s, POLL_S))
                try:
                    found = await self._store.run(take_replies(Key(request.reply_to), 1))
                    self._backoff.worked()
                except BusError as error:
                    await self._backoff.failed(error)
                    continue
                if found:
                    return decode(self._answer, found[0] or b"")

    async def take(self) -> TeamDelivery[Asked] | None:
        """Return the next request, or None after a while without one. Waits while Redis is away."""
        block_ms = min(self._options.block_ms, max(1, round(self._options.lease_s * 333)))
        try:
            admitted = await self._next(block_ms)
            self._backoff.worked()
        except BusError as error:
            await self._backoff.failed(error)
            return None
        if admitted is None:
            return None
        made_at = boot_time() - admitted.age_s
        delivery = TeamDelivery(admitted.message, admitted.redelivered, admitted.started, admitted.lease, made_at)
        if delivery.left_s <= 0:
            answer = self._answer(request_id=admitted.message.request_id, error_code="EXPIRED", text="it came too late")
            await self._complete(admitted.lease, encode(answer), admitted.message.reply_to)
            return None
        self._add_lease(admitted.lease)
        return delivery

    async def finish(self, delivery: Delivery[Asked], answer: Told) -> bool:
        """Answer and acknowledge in one step. False: another process had answered, whose answer stands."""
        return await self._complete(delivery.lease, redact_bytes(encode(answer)), delivery.message.reply_to)

    async def close(self) -> None:
        """Stop reading; another process gets the taken requests once their leases expire."""
        await super().close()
        if self._reader is not None:
            await self._store.close_reader(self._reader)
            self._reader = None

    async def _read(self, block_ms: int | None, begin: bool) -> tuple[Any, Newest | None]:
        if self._reader is None:
            self._reader = self._store.reader()
        return await self._reader(*self._read_command(block_ms)), None

    def _decode(self, data: bytes) -> Asked:
        request = decode(self._request, data)
        if request.reply_to != self.reply_stream(request.request_id):
            raise MalformedMessageError(
                f"reply_to '{request.reply_to}' is not the reply stream '{self.reply_stream(request.request_id)}'"
            )
        return request

    def _identity(self, message: Asked) -> tuple[str, float]:
        return message.request_id, message.deadline

    async def _answer_duplicate(self, entry_id: str, message: Asked, done: bytes | None) -> None:
        await self._store.transaction(("XACK", self._stream, self._group, entry_id), ("XDEL", self._stream, entry_id))

    async def _dead_letter(self, entry_id: str, data: bytes, reason: str, message: Asked | None, started: bool) -> None:
        commands: list[tuple[Any, ...]] = [
            self._dead.command(self._writer, self._stream, entry_id, reason, data),
            ("XACK", self._stream, self._group, entry_id),
            ("XDEL", self._stream, entry_id),
        ]
        if message is not None:
            answer = self._answer(request_id=message.request_id, error_code="UNKNOWN", text=reason[:MAX_CALCULATED])
            commands.append(("XADD", message.reply_to, "MAXLEN", "~", 10_000, "*", FIELD, encode(answer)))
            commands.append(("PEXPIRE", message.reply_to, round(self._options.results_s * 1000)))
            commands.append(self._notifications.command(message.reply_to))
        await self._store.transaction(*commands)


class TurnQueue(TeamQueue[TurnRequest, TurnAnswer]):
    """Questions to the participants of a team."""

    kind = "turn"
    _writer = str(SPEAKER)
    _request, _answer, _absent = TurnRequest, TurnAnswer, "speaks for"

    def __init__(self, context: BusContext, dead: DeadLetters) -> None:
        super().__init__(context, dead, context.keys.turns, "speakers")


class ProgramQueue(TeamQueue[ProgramRequest, ProgramAnswer]):
    """Programs of the participants of a team, which only calculate."""

    kind = "program"
    _writer = str(Skill.EXECUTOR)
    _request, _answer, _absent = ProgramRequest, ProgramAnswer, "runs programs for"

    def __init__(self, context: BusContext, dead: DeadLetters) -> None:
        super().__init__(context, dead, context.keys.programs, "executors")
