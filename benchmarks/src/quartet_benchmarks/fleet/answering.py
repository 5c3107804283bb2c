"""`python -m quartet_benchmarks.fleet.answering URL REPLICAS`: agents that answer at once, to time the bus alone."""

import asyncio
import signal
import sys

from quartet_benchmarks.fleet.bus_options import OPTIONS
from quartet_bus import Bus, SkillQueue
from quartet_contracts import PickResult, Skill, SkillRequest, State


def answer_to(request: SkillRequest) -> PickResult:
    """About 480 bytes, as a real one."""
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
    while True:
        delivery = await queue.take()
        assert delivery is not None
        await queue.mark_started(delivery)
        await queue.finish(delivery, answer_to(delivery.request))


async def main(url: str, replicas: int) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
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
