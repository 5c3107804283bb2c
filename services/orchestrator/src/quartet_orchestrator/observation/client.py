"""Read-only calls to the servers of a robot, under grants that the orchestrator signs for itself."""

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any

from quartet_agent_runtime import Progress, Toolbox, ToolOutcome, ignore_progress
from quartet_bus import Bus
from quartet_contracts.tools import CommonCode
from quartet_orchestrator.grants import GrantSigner
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_process import boot_time

LOOK = "perception__look"
NO_ANSWER = {"TOOL_ERROR", "SERVER_UNAVAILABLE", "SERVER_LOST"}
"""Codes of a call that its server may not have taken for its grant."""


class ObserverSessions:
    """Opens tool sessions for calls that move nothing; one per process."""

    def __init__(self, bus: Bus, signer: GrantSigner, settings: OrchestratorSettings) -> None:
        self._bus = bus
        self._signer = signer
        self._settings = settings

    async def open(self, robot: str, tools: Sequence[str], *, lasts_s: float, task_id: str = "") -> Toolbox:
        """Return a session for `tools` (each `<server>__<tool>`) of `robot`, under the robot's current fence.

        Its grant lasts for `lasts_s` [s]. Raises BusUnavailableError.
        """
        grant = self._signer.sign(
            agent="orchestrator",
            robot=robot,
            request_id=f"look-{secrets.token_hex(4)}",
            fence=await self._bus.fences.current(robot),
            tools=list(tools),
            deadline=time.time() + lasts_s,
            task_id=task_id,
        )
        needed = {tool.split("__", 1)[0] for tool in tools}
        servers = {name: url for name, url in self._settings.servers_of(robot).items() if name in needed}
        # A page that shows the robot does not wait for it.
        wait_s = self._settings.bridge_wait_s if task_id else 0.0
        return Toolbox(servers, grant, tools, self._settings.look_timeout_s, bridge_wait_s=wait_s)

    def has_server(self, robot: str, server: str) -> bool:
        """Return whether the MCP server `server` of `robot` is known here."""
        return server in self._settings.servers_of(robot)

    def lasts(self, left_s: float) -> float:
        """Return how long a grant lasts [s] for a task that has `left_s` [s]: one looks at what a cancel has left."""
        return max(0.0, left_s) + self._settings.cancel_wait_s


class ToolReader:
    """Calls the read-only `tools` of one robot, one call at a time. A failure of a server is an outcome, no exception.

    The session is opened at the first call; again when the robot's fence has gone up since, and when its grant ends.
    """

    def __init__(
        self,
        sessions: ObserverSessions,
        robot: str,
        tools: Sequence[str],
        *,
        lasts_s: Callable[[], float],
        task_id: str = "",
    ) -> None:
        """`lasts_s` returns how long a new grant lasts [s]."""
        self._sessions = sessions
        self._robot = robot
        self._tools = tools
        self._lasts_s = lasts_s
        self._task_id = task_id
        self._toolbox: Toolbox | None = None
        self._ends_at = 0.0
        self._one_at_a_time = asyncio.Lock()
        """All calls use one session, and each of them may replace it."""

    async def call(self, tool: str, arguments: dict[str, Any], progress: Progress | None = None) -> ToolOutcome:
        """Call one of the tools; once more with a new grant when the robot's fence has gone up since."""
        async with self._one_at_a_time:
            if boot_time() >= self._ends_at:
                await self.close()
            outcome = await self._call(tool, arguments, progress or ignore_progress)
            if outcome.error_code == CommonCode.FENCED:
                await self.close()
                outcome = await self._call(tool, arguments, progress or ignore_progress)
            if outcome.error_code in NO_ANSWER:
                # The grant may have been signed, or looked at, while a clock was wrong.
                await self.close()
            return outcome

    async def close(self) -> None:
        """End the session; the next call opens another."""
        if self._toolbox is not None:
            toolbox, self._toolbox = self._toolbox, None
            await toolbox.__aexit__(None, None, None)

    async def _call(self, tool: str, arguments: dict[str, Any], progress: Progress) -> ToolOutcome:
        if self._toolbox is None:
            lasts_s = self._lasts_s()
            self._ends_at = boot_time() + lasts_s
            self._toolbox = await self._sessions.open(self._robot, self._tools, lasts_s=lasts_s, task_id=self._task_id)
        return await self._toolbox.call(tool, arguments, progress)


class CameraClient:
    """Looks through the cameras of one robot for one task."""

    def __init__(self, sessions: ObserverSessions, robot: str, *, task_id: str, lasts_s: Callable[[], float]) -> None:
        """`lasts_s` returns how long a new grant lasts [s]."""
        self._reader = ToolReader(sessions, robot, [LOOK], lasts_s=lasts_s, task_id=task_id)

    async def look(self, camera: str, progress: Progress | None = None) -> ToolOutcome:
        """Return JPEGs of `camera` ("front", "arm" or "both"). A failure of the server is an outcome, no exception."""
        return await self._reader.call(LOOK, {"camera": camera}, progress)

    async def close(self) -> None:
        """End the session."""
        await self._reader.close()
