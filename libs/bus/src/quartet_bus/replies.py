"""Questions to the agents and their answers: one reply stream per orchestrator replica, matched by request id."""

import asyncio
import logging
import time
from typing import Any

from quartet_bus._keys import Keys
from quartet_bus._queue import FIELD
from quartet_bus._store import Patience, Store
from quartet_bus.errors import BusUnavailable, NoAnswer
from quartet_bus.options import BusOptions
from quartet_bus.skills import SkillQueue
from quartet_contracts import RESULTS, ContractError, SkillRequest, SkillResult, decode

log = logging.getLogger(__name__)


class Replies:
    """Use as `async with bus.replies(replica) as replies`; then `await replies.ask(queue, request)`."""

    def __init__(self, store: Store, keys: Keys, options: BusOptions, replica: str) -> None:
        self._store = store
        self._options = options
        self.stream = keys.replies(replica)
        """What goes into `reply_to` of a request."""
        self._waiting: dict[str, asyncio.Future[SkillResult]] = {}
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Replies":
        self._task = asyncio.create_task(self._read(), name="bus-replies")
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def ask(
        self, queue: SkillQueue, request: SkillRequest, *, absent_after_s: float = 15.0, grace_s: float = 10.0
    ) -> SkillResult:
        """Submit `request` and wait for its result.

        Raises NoAnswer when no replica of the agent lives for `absent_after_s`, when nobody took the request before
        its deadline (both: it is withdrawn, nothing happened), or when there is no result `grace_s` after the
        deadline (taken, so the outcome is not known).
        """
        future: asyncio.Future[SkillResult] = asyncio.get_running_loop().create_future()
        self._waiting[request.request_id] = future
        try:
            entry_id = await queue.submit(request)
            absent_since = time.monotonic()
            while True:
                try:
                    async with asyncio.timeout(min(1.0, absent_after_s / 2)):
                        return await asyncio.shield(future)
                except TimeoutError:
                    pass
                try:
                    known = await queue.result(request.request_id)
                    if known is not None:
                        return known
                    if await queue.was_taken(request.request_id):
                        await self._give_up_late(queue, request, grace_s)
                        absent_since = time.monotonic()
                    elif await queue.alive():
                        absent_since = time.monotonic()
                        if time.time() > request.deadline:
                            reason = f"no {request.skill} agent had time for it before the deadline"
                            await self._withdraw(queue, entry_id, request, reason)
                    elif time.monotonic() - absent_since > absent_after_s or time.time() > request.deadline:
                        reason = (
                            f"no {request.skill} agent is running; start one (quartet up, or python -m "
                            f"quartet_{request.skill}) with the same QUARTET_REDIS_URL"
                        )
                        await self._withdraw(queue, entry_id, request, reason)
                except BusUnavailable as error:
                    log.debug("request %s: %s", request.request_id, error)
                    if time.time() > request.deadline + grace_s:
                        raise NoAnswer(str(error), taken=True, started=True) from error
        finally:
            del self._waiting[request.request_id]

    async def _withdraw(self, queue: SkillQueue, entry_id: str, request: SkillRequest, reason: str) -> None:
        if await queue.withdraw(entry_id, request, reason):
            raise NoAnswer(reason, taken=False, started=False)

    async def _give_up_late(self, queue: SkillQueue, request: SkillRequest, grace_s: float) -> None:
        late = time.time() - request.deadline
        if late > grace_s:
            started = await queue.was_started(request.request_id)
            reason = f"the {request.skill} agent that took the request gave no answer {late:.0f} s after its deadline"
            raise NoAnswer(reason, taken=True, started=started)

    async def _read(self) -> None:
        reader = self._store.reader()
        patience = Patience(f"replies on {self.stream}")
        last = b"0-0"
        try:
            while True:
                try:
                    answer = await reader(
                        "XREAD", "COUNT", 100, "BLOCK", self._options.block_ms, "STREAMS", self.stream, last
                    )
                    patience.worked()
                    entries: list[Any] = answer[0][1] if answer else []
                    for entry_id, fields in entries:
                        last = entry_id
                        self._deliver(fields.get(FIELD, b""))
                    if entries:
                        await self._store.call("XDEL", self.stream, *(entry_id for entry_id, _ in entries))
                except BusUnavailable as error:
                    await patience.failed(error)
        finally:
            await self._store.close_reader(reader)

    def _deliver(self, data: bytes) -> None:
        try:
            skill = decode(SkillResult, data).skill
            result = decode(RESULTS[skill], data)
        except ContractError as error:
            log.error("unreadable reply dropped: %s", error)
            return
        future = self._waiting.get(result.request_id)
        if future is None:
            log.info("reply to %s, which nobody waits for", result.request_id)
        elif not future.done():
            future.set_result(result)
