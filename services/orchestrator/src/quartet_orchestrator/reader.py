"""Tools that only look, called at one robot under a grant of the orchestrator's own."""

import asyncio
import secrets
import time
from collections.abc import Callable
from typing import Any

from quartet_agent_runtime import Progress, Toolbox, ToolOutcome
from quartet_bus import Bus
from quartet_contracts.tools import CommonCode
from quartet_orchestrator.grants import Signer
from quartet_orchestrator.settings import OrchestratorSettings


class Reader:
    """Calls `tools` (each `<server>__<tool>`), one at a time. Never raises for what a server did.

    The grant is signed at the first call; again when the robot's fence has gone up since, and when it ends.
    """

    def __init__(
        self,
        robot: str,
        tools: list[str],
        bus: Bus,
        signer: Signer,
        settings: OrchestratorSettings,
        *,
        until: Callable[[], float],
        task_id: str = "",
    ) -> None:
        """`until` gives the end of a new grant, seconds since the epoch."""
        self._robot = robot
        self._tools = tools
        self._bus = bus
        self._signer = signer
        self._settings = settings
        self._until = until
        self._task_id = task_id
        self._toolbox: Toolbox | None = None
        self._ends_at = 0.0
        self._one_at_a_time = asyncio.Lock()
        """All use one session, and one may renew it."""

    async def call(self, tool: str, arguments: dict[str, Any], progress: Progress | None = None) -> ToolOutcome:
        async with self._one_at_a_time:
            if time.time() >= self._ends_at:
                await self._close()
            outcome = await self._call(tool, arguments, progress or _ignore)
            if outcome.error_code == CommonCode.FENCED:
                await self._close()
                outcome = await self._call(tool, arguments, progress or _ignore)
            return outcome

    async def close(self) -> None:
        await self._close()

    async def _close(self) -> None:
        if self._toolbox is not None:
            toolbox, self._toolbox = self._toolbox, None
            await toolbox.__aexit__(None, None, None)

    async def _call(self, tool: str, arguments: dict[str, Any], progress: Progress) -> ToolOutcome:
        if self._toolbox is None:
            self._toolbox = await self._open()
        return await self._toolbox.call(tool, arguments, progress, self._settings.look_timeout_s)

    async def _open(self) -> Toolbox:
        self._ends_at = self._until()
        grant = self._signer.sign(
            agent="orchestrator",
            robot=self._robot,
            request_id=f"look-{secrets.token_hex(4)}",
            fence=await self._bus.fences.current(self._robot),
            tools=self._tools,
            deadline=self._ends_at,
            task_id=self._task_id,
        )
        needed = {tool.split("__", 1)[0] for tool in self._tools}
        servers = {name: url for name, url in self._settings.servers_of(self._robot).items() if name in needed}
        return Toolbox(servers, grant, self._tools, self._settings.look_timeout_s)


async def _ignore(_fraction: float | None, _message: str) -> None:
    return None
