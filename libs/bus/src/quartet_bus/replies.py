"""Questions to the agents and their answers: one reply stream per orchestrator replica and skill.

Only the agents of a skill may write to its stream, and what comes there is an answer of that skill or none at all.
"""

import asyncio
import contextlib
import logging
import time

from quartet_bus._keys import Keys
from quartet_bus._queue import FIELD
from quartet_bus._store import Patience, Store
from quartet_bus.errors import BusUnavailable, NoAnswer
from quartet_bus.options import BusOptions
from quartet_bus.skills import SkillQueue
from quartet_contracts import RESULTS, ContractError, Skill, SkillRequest, SkillResult, decode

log = logging.getLogger(__name__)

MAX_POLL_S = 3.0
"""An answer that was missed on the reply stream is found on record after so long."""
REJOIN_POLL_S = 0.25
TIDY_AFTER = 50
"""Answers that were read are taken off the stream when there are so many, and when none comes for a while."""


class _Watch:
    """Looks now and then at a request whose answer has not come, and gives it up when it must."""

    def __init__(
        self, queue: SkillQueue, request: SkillRequest, entry_id: str, absent_after_s: float, grace_s: float
    ) -> None:
        self._queue = queue
        self._request = request
        self._entry_id = entry_id
        self._absent_after_s = absent_after_s
        self._grace_s = grace_s
        self._absent_since = time.monotonic()
        self._interval_s = min(MAX_POLL_S, absent_after_s / 3)

    def hurry(self) -> None:
        """Look often: the answer goes to somebody else's stream."""
        self._interval_s = REJOIN_POLL_S

    @property
    def pause_s(self) -> float:
        """Until the next look; a look falls on the deadline and on the end of the grace time."""
        left = self._request.deadline - time.time()
        if left <= 0:
            left += self._grace_s
        return min(self._interval_s, left + 0.01) if left > 0 else self._interval_s

    async def look(self) -> SkillResult | None:
        """The result if it is on record. Raises NoAnswer when there will be none."""
        request, late_s = self._request, time.time() - self._request.deadline
        progress = await self._queue.progress(request.request_id)
        if progress.result is not None:
            return progress.result
        if progress.taken:
            if late_s > self._grace_s:
                raise NoAnswer(
                    f"the {request.skill} agent that took the request gave no answer {late_s:.0f} s after its deadline",
                    taken=True,
                    started=progress.started,
                )
            if progress.alive:
                self._absent_since = time.monotonic()
            elif time.monotonic() - self._absent_since > self._absent_after_s:
                raise NoAnswer(
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

    def missed(self, error: BusUnavailable) -> None:
        """The store is away. Raises NoAnswer when that lasts beyond the grace time."""
        if time.time() > self._request.deadline + self._grace_s:
            raise NoAnswer(str(error), taken=True, started=True) from error

    async def _withdraw(self, reason: str) -> None:
        if await self._queue.withdraw(self._entry_id, self._request, reason):
            raise NoAnswer(reason, taken=False, started=False)


class Replies:
    """Use as `async with bus.replies(replica) as replies`; then `await replies.ask(queue, request)`."""

    def __init__(self, store: Store, keys: Keys, options: BusOptions, replica: str) -> None:
        self._store = store
        self._options = options
        self._streams = {skill: keys.replies(skill, replica) for skill in Skill}
        self._waiting: dict[tuple[Skill, str], asyncio.Future[SkillResult]] = {}
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Replies":
        self._task = asyncio.create_task(self._read(), name="bus-replies")
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def stream(self, skill: Skill) -> str:
        """What goes into `reply_to` of a request."""
        return self._streams[skill]

    async def ask(
        self, queue: SkillQueue, request: SkillRequest, *, absent_after_s: float = 15.0, grace_s: float = 10.0
    ) -> SkillResult:
        """Submit `request` and wait for its result.

        Raises NoAnswer when no replica of the agent lives for `absent_after_s`, when nobody took the request before
        its deadline (both: it is withdrawn, nothing happened), or when there is no result `grace_s` after the
        deadline or the replica that took it is gone and none lives (taken, so the outcome is not known).
        """
        future: asyncio.Future[SkillResult] = asyncio.get_running_loop().create_future()
        self._waiting[request.skill, request.request_id] = future
        try:
            entry_id = await queue.submit(request)
            return await self._wait(_Watch(queue, request, entry_id, absent_after_s, grace_s), request, future)
        finally:
            del self._waiting[request.skill, request.request_id]

    async def rejoin(
        self, queue: SkillQueue, request: SkillRequest, *, absent_after_s: float = 15.0, grace_s: float = 10.0
    ) -> SkillResult:
        """Wait for the result of a request that a replica submitted which is gone, or was about to submit.

        Raises NoAnswer as `ask` does; a request that nobody has taken yet is withdrawn at once, so that it is known
        that nothing moved.
        """
        reason = "the orchestrator that asked for it went away before it was begun"
        if await queue.withdraw("", request, reason):
            raise NoAnswer(reason, taken=False, started=False)
        future: asyncio.Future[SkillResult] = asyncio.get_running_loop().create_future()
        self._waiting[request.skill, request.request_id] = future
        watch = _Watch(queue, request, "", absent_after_s, grace_s)
        watch.hurry()
        try:
            return await watch.look() or await self._wait(watch, request, future)
        finally:
            del self._waiting[request.skill, request.request_id]

    async def _wait(self, watch: _Watch, request: SkillRequest, future: "asyncio.Future[SkillResult]") -> SkillResult:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(watch.pause_s):
                    return await asyncio.shield(future)
            try:
                result = await watch.look()
            except BusUnavailable as error:
                log.debug("request %s: %s", request.request_id, error)
                watch.missed(error)
            else:
                if result is not None:
                    return result

    async def _read(self) -> None:
        reader = self._store.reader()
        patience = Patience(f"replies on {', '.join(self._streams.values())}")
        skills = {name.encode(): skill for skill, name in self._streams.items()}
        last = dict.fromkeys(self._streams.values(), b"0-0")
        read: dict[str, list[bytes]] = {name: [] for name in last}
        try:
            while True:
                try:
                    answer = await reader(
                        "XREAD", "COUNT", 100, "BLOCK", self._options.block_ms, "STREAMS", *last, *last.values()
                    )
                    patience.worked()
                    for name, entries in answer or ():
                        stream = name.decode()
                        last[stream] = entries[-1][0]
                        read[stream] += [entry_id for entry_id, _ in entries]
                        for _, fields in entries:
                            self._deliver(skills[name], fields.get(FIELD, b""))
                    for stream, entry_ids in read.items():
                        if entry_ids and (not answer or len(entry_ids) >= TIDY_AFTER):
                            # Not after each: the next answer would wait for it.
                            await self._store.call("XDEL", stream, *entry_ids)
                            entry_ids.clear()
                except BusUnavailable as error:
                    await patience.failed(error)
        finally:
            await self._store.close_reader(reader)

    def _deliver(self, skill: Skill, data: bytes) -> None:
        try:
            result = decode(RESULTS[skill], data)
        except ContractError as error:
            log.error("unreadable reply of %s dropped: %s", skill, error)
            return
        future = self._waiting.get((skill, result.request_id))
        if future is None:
            log.info("reply of %s to %s, which nobody waits for", skill, result.request_id)
        elif not future.done():
            future.set_result(result)
