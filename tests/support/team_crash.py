"""Death of an orchestrator that runs a task of a team."""

import asyncio

from quartet_bus import Bus
from quartet_contracts import TEAM_QUEUE
from support.store import KEYS, command


async def crash(process: asyncio.subprocess.Process, bus: Bus) -> None:
    """SIGKILL; its leases are made to run out at once, so that the test need not wait for them."""
    process.kill()
    await process.wait()
    for robot in (TEAM_QUEUE, "summit", "second"):
        await command(bus, "DEL", KEYS.robot_lease(robot))
        stream = KEYS.task_stream(robot)
        for entry, _ in await command(bus, "XRANGE", stream, "-", "+", "COUNT", 1):
            await command(bus, "XCLAIM", stream, "orchestrator", "dead", 0, entry, "IDLE", 60_000)
