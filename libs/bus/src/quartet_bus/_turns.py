"""Stream of a team's turns: the orchestrator asks, the processes that speak for robots answer."""

import time
from dataclasses import dataclass
from typing import Any

from quartet_bus._dead_letters import DeadLetters
from quartet_bus._keys import Key
from quartet_bus._notifications import POLL_S
from quartet_bus._part import BusContext
from quartet_bus._queue import FIELD, Delivery, Queue, take_replies
from quartet_bus._store import Backoff, Reader
from quartet_bus.errors import BusError, NoAnswerError
from quartet_bus.functions.requests import Newest
from quartet_contracts import MalformedMessageError, Skill, TurnAnswer, TurnRequest, decode, encode
from quartet_process import boot_time, redact_bytes

SPEAKER = Skill.APPROACH
"""The agents whose processes speak for robots."""


@dataclass(frozen=True, eq=False)
class TurnDelivery(Delivery[TurnRequest]):
    """Question taken from the stream."""

    made_at: float
    """Time at which it was made, as boot_time() of this process counts [s]."""

    @property
    def left_s(self) -> float:
        """Time that is left for an answer [s]: clocks of different machines are not compared."""
        return self.made_at + self.message.deadline - self.message.created_at - boot_time()


class TurnQueue(Queue[TurnRequest]):
    """Questions to the participants of a team. A turn moves nothing: one whose process died is simply taken again."""

    kind = "turn"
    _writer = str(SPEAKER)

    def __init__(self, context: BusContext, dead: DeadLetters) -> None:
        super().__init__(context, dead, context.keys.turns, "speakers", context.replica)
        self._reader: Reader | None = None
        self._backoff = Backoff("turns of teams")

    def reply_stream(self, request_id: str) -> str:
        """Return the stream on which the answer to this request comes."""
        return self._keys.replies(self.kind, request_id)

    async def ask(self, request: TurnRequest, absent_after_s: float) -> TurnAnswer:
        """Return the answer to a question.

        Raises NoAnswerError after its deadline, and when nobody who speaks has been there for `absent_after_s` [s].
        """
        end = boot_time() + request.deadline - request.created_at
        await self._add(request)
        last_seen = time.monotonic()
        async with self._notifications.listen(request.reply_to) as wakeup:
            while True:
                left_s = end - boot_time()
                if left_s <= 0:
                    raise NoAnswerError(
                        f"the participant of '{request.robot}' gave no answer in time", taken=False, started=False
                    )
                if await self.alive():
                    last_seen = time.monotonic()
                elif time.monotonic() - last_seen > absent_after_s:
                    raise NoAnswerError(
                        f"no process speaks for '{request.robot}' (is the {SPEAKER} agent running?)",
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
                    return decode(TurnAnswer, found[0] or b"")

    async def take(self) -> TurnDelivery | None:
        """Return the next question, or None after a while without one. Waits while Redis is away."""
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
        delivery = TurnDelivery(admitted.message, admitted.redelivered, admitted.started, admitted.lease, made_at)
        if delivery.left_s <= 0:
            answer = TurnAnswer(request_id=admitted.message.request_id, error_code="EXPIRED", text="it came too late")
            await self._complete(admitted.lease, encode(answer), admitted.message.reply_to)
            return None
        self._add_lease(admitted.lease)
        return delivery

    async def finish(self, delivery: Delivery[TurnRequest], answer: TurnAnswer) -> bool:
        """Answer and acknowledge in one step. False: another process had answered, whose answer stands."""
        return await self._complete(delivery.lease, redact_bytes(encode(answer)), delivery.message.reply_to)

    async def close(self) -> None:
        """Stop reading; another process gets the taken questions once their leases expire."""
        await super().close()
        if self._reader is not None:
            await self._store.close_reader(self._reader)
            self._reader = None

    async def _read(self, block_ms: int | None, begin: bool) -> tuple[Any, Newest | None]:
        if self._reader is None:
            self._reader = self._store.reader()
        return await self._reader(*self._read_command(block_ms)), None

    def _decode(self, data: bytes) -> TurnRequest:
        request = decode(TurnRequest, data)
        if request.reply_to != self.reply_stream(request.request_id):
            raise MalformedMessageError(
                f"reply_to '{request.reply_to}' is not the reply stream '{self.reply_stream(request.request_id)}'"
            )
        return request

    def _identity(self, message: TurnRequest) -> tuple[str, float]:
        return message.request_id, message.deadline

    async def _answer_duplicate(self, entry_id: str, message: TurnRequest, done: bytes | None) -> None:
        await self._store.transaction(("XACK", self._stream, self._group, entry_id), ("XDEL", self._stream, entry_id))

    async def _dead_letter(
        self, entry_id: str, data: bytes, reason: str, message: TurnRequest | None, started: bool
    ) -> None:
        commands: list[tuple[Any, ...]] = [
            self._dead.command(self._writer, self._stream, entry_id, reason, data),
            ("XACK", self._stream, self._group, entry_id),
            ("XDEL", self._stream, entry_id),
        ]
        if message is not None:
            answer = TurnAnswer(request_id=message.request_id, error_code="UNKNOWN", text=reason)
            commands.append(("XADD", message.reply_to, "MAXLEN", "~", 10_000, "*", FIELD, encode(answer)))
            commands.append(("PEXPIRE", message.reply_to, round(self._options.results_s * 1000)))
            commands.append(self._notifications.command(message.reply_to))
        await self._store.transaction(*commands)
