"""A program of a team that moves the arm until it is stopped, run by the executor of a stack."""

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncGenerator

from quartet_bus import Bus
from quartet_contracts import ExecutorArguments, Skill, SkillRequest, SkillResult, granted_tools
from quartet_deployment import Stack

ACTION = "/move_action"
LONGEST_S = 1.0
"""Latest moment of the stop after the start of the first motion [s]; the program goes on for longer."""
TOOLS = granted_tools(Skill.EXECUTOR)
CODE = """\
while True:
    execute_trajectory([0.6, 0.35, 0.9], 1.2)
    execute_trajectory([0.6, -0.35, 0.9], -1.2)
"""
"""Both poses are in the reach of the studio's robot and over what stands there."""
WALL_S = 120.0


@contextlib.asynccontextmanager
async def running(stack: Stack, grant: str) -> AsyncGenerator["asyncio.Future[SkillResult]"]:
    """Have the executor run the program under a grant, as the orchestrator has it run that of a team.

    Yields the result to come; the executor is no longer waited for at the end.
    """
    async with await Bus.connect(stack.redis_url) as bus, bus.replies() as replies:
        now, identity = time.time(), uuid.uuid4().hex[:16]
        request = SkillRequest(
            request_id=f"r-{identity}",
            task_id=f"t-{identity}",
            robot=stack.robot,
            skill=Skill.EXECUTOR,
            created_at=now,
            deadline=now + WALL_S,
            arguments=ExecutorArguments(code=CODE),
            grant=grant,
            reply_to=replies.stream(Skill.EXECUTOR),
        )
        call = asyncio.ensure_future(replies.ask(bus.skills(Skill.EXECUTOR), request))
        try:
            yield call
        finally:
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
