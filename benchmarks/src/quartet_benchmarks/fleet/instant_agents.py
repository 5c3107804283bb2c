"""`python -m quartet_benchmarks.fleet.instant_agents URL REPLICAS`: agents that answer at once."""

import asyncio
import sys

from quartet_bus import Bus, BusOptions, SkillQueue
from quartet_contracts import PickResult, Skill, SkillRequest, State
from quartet_process import stop_on_signals

OPTIONS = BusOptions(lease_s=10.0)
"""Options of the bus in all processes of this benchmark: a busy machine must not take a slow process for a dead one."""


def answer_to(request: SkillRequest) -> PickResult:
    """Return a result of about 480 bytes, as a real one has."""
    return PickResult(
        request_id=request.request_id,
        task_id=request.task_id,
        success=True,
        error_code="NONE",  # pyright: ignore[reportArgumentType]
        reason="'red coke can' is held: the fingers are 0.066 m apart and the wrist camera shows it between them",
        state=State.SUCCEEDED,
        held_object_height_m=0.12,
    )


async def answer(queue: SkillQueue) -> None:
    """Answer every request of a queue."""
    while True:
        delivery = await queue.take(begin=True)
        assert delivery is not None
        await queue.mark_started(delivery)
        await queue.finish(delivery, answer_to(delivery.request))


async def main(url: str, replicas: int) -> None:
    """Run `replicas` agents until SIGTERM or SIGINT."""
    stop = stop_on_signals()
    buses = [await Bus.connect(url, OPTIONS) for _ in range(replicas)]
    work = [asyncio.create_task(answer(bus.skills(Skill.PICK))) for bus in buses]
    print("ready", flush=True)
    await stop.wait()
    for task in work:
        task.cancel()
    await asyncio.gather(*work, return_exceptions=True)
    for bus in buses:
        await bus.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
