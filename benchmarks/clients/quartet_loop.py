"""The task with Quartet's loop in one process: `python quartet_loop.py GIVEN REDIS_URL`.

GRANTS are the tasks that it may do, each with its grant, as JSON; GATEWAY_KEY is the agent's key. The model is asked
through the gateway; journal and transcript are in Redis, as those of an agent are.
"""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from client import Given, Task, main

from quartet_agent_runtime import GatewayClient, Loop, Recorder, Toolbox, WorkClock, skill_report
from quartet_bus import Bus
from quartet_contracts import MODEL_TOOLS, Budget, Skill

DEADLINE_S = 120.0


@asynccontextmanager
async def connected(given: Given) -> AsyncIterator[Task]:
    """Connect to Redis, and to the MCP server as each of the three that the approach agent uses."""
    grants, key = json.loads(os.environ["GRANTS"]), os.environ["GATEWAY_KEY"]
    # The MCP server here checks none, and its sessions stay open from task to task, as those of the other clients.
    grant = next(iter(grants.values()))
    tasks = iter(grants)
    names = MODEL_TOOLS[Skill.APPROACH]
    servers = {name.partition("__")[0]: given.mcp_url for name in names}
    gateway = GatewayClient(given.model_url, Skill.APPROACH.value, key)
    async with await Bus.connect(sys.argv[2]) as bus, Toolbox(servers, grant, names, timeout_s=60.0) as tools:
        await tools.list()

        async def task() -> str:
            task_id = next(tasks)
            recorder = Recorder(
                actor="approach",
                task_id=task_id,
                loop_id="r",
                journal=bus.journal,
                images=bus.images,
                transcripts=bus.transcripts,
            )
            loop = Loop(
                model=gateway.for_task(task_id, "r", lambda: grants[task_id]),
                tools=tools,
                report=skill_report(Skill.APPROACH),
                recorder=recorder,
                budget=Budget(),
                clock=WorkClock(DEADLINE_S, DEADLINE_S),
            )
            ending = await loop.run(given.system, given.user)
            return getattr(ending.report, "reason", None) or f"no report: {ending.reason}"

        try:
            yield task
        finally:
            await gateway.close()


if __name__ == "__main__":
    main(connected)
