"""Quartet's own bus: a skill's queue as an agent takes from it, and the replies as the orchestrator waits for them."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bus_client import Asking, Given, main, result_of

from quartet_bus import Bus, BusOptions
from quartet_contracts import RESULTS, SkillRequest, SkillResult

OPTIONS = BusOptions(lease_s=10.0)
"""A busy machine must not take a slow process for a dead one."""
DEADLINE_S = 120.0


@asynccontextmanager
async def answering(told: Given) -> AsyncIterator[str]:
    """Take, mark as started and finish, as an agent does."""
    skill = SkillRequest.model_validate(told.request).skill
    async with await Bus.connect(told.url, OPTIONS) as bus:
        queue = bus.skills(skill)

        async def work() -> None:
            while True:
                delivery = await queue.take(begin=True)
                assert delivery is not None
                await queue.mark_started(delivery)
                request = {"request_id": delivery.request.request_id, "task_id": delivery.request.task_id}
                await queue.finish(delivery, RESULTS[skill].model_validate(result_of(told, request)))

        working = asyncio.create_task(work())
        try:
            yield told.url
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


@asynccontextmanager
async def asking(told: Given) -> AsyncIterator[Asking]:
    """Ask and wait for the reply."""
    template = SkillRequest.model_validate(told.request)
    async with await Bus.connect(told.url, OPTIONS) as bus, bus.replies() as replies:
        queue, reply_to = bus.skills(template.skill), replies.stream(template.skill)

        def make(identity: str) -> SkillRequest:
            now = time.time()
            fresh = {"request_id": identity, "created_at": now, "deadline": now + DEADLINE_S, "reply_to": reply_to}
            return template.model_copy(update=fresh)

        async def ask(request: SkillRequest) -> SkillResult:
            return await replies.ask(queue, request)

        yield Asking(ask, make, lambda result: result.request_id)


if __name__ == "__main__":
    main(answering, asking)
