"""Requests to the agents and their results: one reply stream per orchestrator replica and skill.

Only the agents of a skill may write to its stream, and what comes there is an answer of that skill or none at all.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from functools import partial

from quartet_bus._part import BusContext, Part
from quartet_bus._queue import take_replies
from quartet_bus._skills import SkillQueue
from quartet_bus._skipped import SKIPPED
from quartet_bus._store import Backoff
from quartet_bus.errors import BusError, BusUnavailableError, NoAnswerError
from quartet_bus.functions.queues import RESULT_BYTES
from quartet_contracts import RESULTS, ContractError, Skill, SkillRequest, SkillResult, decode
from quartet_process import BACKGROUND, boot_time

log = logging.getLogger(__name__)

MAX_POLL_S = 3.0
"""Period in which the stored result is looked up, in case it was missed on the reply stream [s]."""
REJOIN_POLL_S = 0.25
MOST_LEFT = 32
"""After so many answers that came with their signals the stream, where they lie too, is read and emptied."""


class Waiter:
    """Caller that waits for a result."""

    def __init__(self) -> None:
        self._result: SkillResult | None = None
        self._come = asyncio.Event()

    def give(self, result: SkillResult) -> bool:
        """Give the caller its result; False when it has one."""
        if self._result is not None:
            return False
        self._result = result
        self._come.set()
        return True

    async def wait(self, timeout_s: float) -> SkillResult | None:
        """Return the result, None without one after `timeout_s`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._come.wait()
        return self._result


class _Watch:
    """Periodic look-up of a request without an answer; ends with an error when none will come."""

    def __init__(
        self,
        queue: SkillQueue,
        request: SkillRequest,
        entry_id: str,
        absent_after_s: float,
        grace_s: float,
        waited_s: Callable[[], float],
        age_s: float = 0.0,
    ) -> None:
        self._made_at = boot_time() - age_s
        self._queue = queue
        self._waited_s = waited_s
        self._request = request
        self._entry_id = entry_id
        self._absent_after_s = absent_after_s
        self._grace_s = grace_s
        self._absent_since = time.monotonic()
        self._interval_s = min(MAX_POLL_S, absent_after_s / 3)

    @property
    def _left_s(self) -> float:
        """What is left of the request's time for work, which grows by what was waited for a person, to its deadline.

        Negative afterwards. No wall clock tells it: one may be set meanwhile.
        """
        request = self._request
        most_s = request.deadline - request.created_at
        return min(most_s, request.budget.wall_s + self._waited_s()) - (boot_time() - self._made_at)

    def hurry(self) -> None:
        """Look up often: the answer goes to another replica's stream."""
        self._interval_s = REJOIN_POLL_S

    @property
    def pause_s(self) -> float:
        """Return the time until the next look-up; one is at the deadline and one at the end of the grace time."""
        left = self._left_s
        if left <= 0:
            left += self._grace_s
        return min(self._interval_s, left + 0.01) if left > 0 else self._interval_s

    async def look(self) -> SkillResult | None:
        """Return the stored result, None without one yet. Raises NoAnswerError when there will be none."""
        request, late_s = self._request, -self._left_s
        try:
            progress = await self._queue.progress(request.request_id)
        except ContractError as error:
            raise NoAnswerError(
                f"the result of the {request.skill} agent cannot be read: {error}", taken=True, started=True
            ) from error
        if progress.result is not None:
            return progress.result
        if progress.taken:
            if late_s > self._grace_s:
                raise NoAnswerError(
                    f"the {request.skill} agent that took the request gave no answer {late_s:.0f} s after its deadline",
                    taken=True,
                    started=progress.started,
                )
            if progress.alive:
                self._absent_since = time.monotonic()
            elif time.monotonic() - self._absent_since > self._absent_after_s:
                raise NoAnswerError(
                    f"the {request.skill} agent that took the request is gone, and no other one runs that could tell "
                    "what became of it",
                    taken=True,
                    started=progress.started,
                )
        elif progress.alive:
            self._absent_since = time.monotonic()
            if late_s > 0:
                await self._withdraw(f"no {request.skill} agent had time for it before the deadline")
        elif late_s > 0 or time.monotonic() - self._absent_since > self._absent_after_s:
            await self._withdraw(
                f"no {request.skill} agent is running; start one (quartet up, or python -m quartet_{request.skill}) "
                "with the same QUARTET_REDIS_URL"
            )
        return None

    def missed(self, error: BusUnavailableError) -> None:
        """Record that the store is away. Raises NoAnswerError when that lasts beyond the grace time."""
        if -self._left_s > self._grace_s:
            raise NoAnswerError(str(error), taken=True, started=True) from error

    async def _withdraw(self, reason: str) -> None:
        if await self._queue.withdraw(self._entry_id, self._request, reason):
            raise NoAnswerError(reason, taken=False, started=False)


class Replies(Part):
    """Use as `async with bus.replies(replica) as replies`; then `await replies.ask(queue, request)`."""

    def __init__(self, context: BusContext) -> None:
        super().__init__(context)
        self._streams = {skill: context.keys.replies(skill, context.replica) for skill in Skill}
        self._waiting: dict[tuple[Skill, str], Waiter] = {}
        self._left = dict.fromkeys(Skill, 0)
        """Number of answers that have come with their signals and may still lie on the stream."""
        self._readers: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "Replies":
        self._readers = [BACKGROUND.start("bus-replies", partial(self._read, skill)) for skill in Skill]
        return self

    async def __aexit__(self, *exc: object) -> None:
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)

    def stream(self, skill: Skill) -> str:
        """Return the value of `reply_to` for a request."""
        return self._streams[skill]

    async def ask(
        self,
        queue: SkillQueue,
        request: SkillRequest,
        *,
        absent_after_s: float = 15.0,
        grace_s: float = 10.0,
        waited_s: Callable[[], float] = lambda: 0.0,
    ) -> SkillResult:
        """Submit `request` and wait for its result; `waited_s` tells how long a person was waited for in it.

        Raises NoAnswerError when no replica of the agent lives for `absent_after_s` or nobody took the request before
        its deadline (it is withdrawn: nothing has happened), and when there is no result `grace_s` after the deadline
        or the replica that took it is gone and none lives (it was taken: the outcome is not known).
        """
        waiter = self._waiting[request.skill, request.request_id] = Waiter()
        try:
            entry_id = await queue.submit(request)
            return await self._wait(
                _Watch(queue, request, entry_id, absent_after_s, grace_s, waited_s), request, waiter
            )
        finally:
            del self._waiting[request.skill, request.request_id]

    async def rejoin(
        self,
        queue: SkillQueue,
        request: SkillRequest,
        *,
        age_s: float = 0.0,
        absent_after_s: float = 15.0,
        grace_s: float = 10.0,
    ) -> SkillResult:
        """Wait for the result of a request that a former replica has submitted or was about to, `age_s` [s] ago.

        Raises NoAnswerError as `ask` does. A request that nobody has taken yet is withdrawn at once, so that it is
        certain that nothing has moved.
        """
        reason = "the orchestrator that asked for it went away before it was begun"
        if await queue.withdraw("", request, reason):
            raise NoAnswerError(reason, taken=False, started=False)
        waiter = self._waiting[request.skill, request.request_id] = Waiter()
        watch = _Watch(queue, request, "", absent_after_s, grace_s, lambda: 0.0, age_s)
        watch.hurry()
        try:
            return await watch.look() or await self._wait(watch, request, waiter)
        finally:
            del self._waiting[request.skill, request.request_id]

    async def _wait(self, watch: _Watch, request: SkillRequest, waiter: Waiter) -> SkillResult:
        while True:
            if (result := await waiter.wait(watch.pause_s)) is not None:
                return result
            try:
                result = await watch.look()
            except BusUnavailableError as error:
                log.debug("request %s: %s", request.request_id, error)
                watch.missed(error)
            else:
                if result is not None:
                    return result

    async def _read(self, skill: Skill) -> None:
        stream = self._streams[skill]
        backoff = Backoff(f"replies on {stream}")
        async with self._notifications.listen(stream, heard=partial(self._hear, skill)) as wakeup:
            while True:
                try:
                    self._left[skill] = 0
                    while answers := await self._store.run(take_replies(stream)):
                        for data in answers:
                            self._deliver(skill, data or b"")
                    backoff.worked()
                except BusError as error:
                    await backoff.failed(error)
                    continue
                await wakeup.wait()

    def _hear(self, skill: Skill, data: bytes) -> bool:
        """Deliver a result that came with the signal, and return whether the stream need not be read.

        The result lies on the stream too, and is taken off there together with later ones.
        """
        if len(data) > RESULT_BYTES:
            return False
        try:
            result = decode(RESULTS[skill], data)
        except ContractError:
            return False
        waiter = self._waiting.get((skill, result.request_id))
        if waiter is None or not waiter.give(result):
            return False
        self._left[skill] += 1
        return self._left[skill] < MOST_LEFT

    def _deliver(self, skill: Skill, data: bytes) -> None:
        try:
            result = decode(RESULTS[skill], data)
        except ContractError as error:
            log.error("unreadable reply of %s dropped: %s", skill, error)
            SKIPPED.labels("reply").inc()
            return
        waiter = self._waiting.get((skill, result.request_id))
        if waiter is None:
            log.debug("reply of %s to %s, for which no caller waits any more", skill, result.request_id)
        else:
            waiter.give(result)
