"""The orchestrator's own look at the world: the perception server's `look`, and nothing else."""

import asyncio
import secrets
import time

from quartet_agent_runtime import Progress, Toolbox, ToolOutcome
from quartet_bus import Bus
from quartet_orchestrator.grants import Signer
from quartet_orchestrator.settings import OrchestratorSettings

LOOK = "perception__look"


class Eyes:
    """Looks through the cameras of one robot, for a task until its `deadline`, or for whoever asks. Never raises for
    what a server did.
    """

    def __init__(
        self,
        robot: str,
        bus: Bus,
        signer: Signer,
        settings: OrchestratorSettings,
        *,
        task_id: str = "",
        deadline: float = 0.0,
    ) -> None:
        self._robot, self._task_id, self._deadline = robot, task_id, deadline
        self._bus = bus
        self._signer = signer
        self._settings = settings
        self._toolbox: Toolbox | None = None
        self._one_at_a_time = asyncio.Lock()
        """The model may look while pictures are taken for the record; both use one session, and one may renew it."""

    async def look(self, camera: str, progress: Progress | None = None) -> ToolOutcome:
        """JPEGs of `camera` (front, arm or both)."""
        async with self._one_at_a_time:
            outcome = await self._call(camera, progress or _ignore)
            if outcome.error_code == "FENCED":
                await self.close()
                outcome = await self._call(camera, progress or _ignore)
            return outcome

    async def close(self) -> None:
        if self._toolbox is not None:
            toolbox, self._toolbox = self._toolbox, None
            await toolbox.__aexit__(None, None, None)

    async def _call(self, camera: str, progress: Progress) -> ToolOutcome:
        if self._toolbox is None:
            self._toolbox = await self._open()
        return await self._toolbox.call(LOOK, {"camera": camera}, progress, self._settings.look_timeout_s)

    async def _open(self) -> Toolbox:
        servers = self._settings.servers_of(self._robot)
        grant = self._signer.sign(
            agent="orchestrator",
            robot=self._robot,
            request_id=f"look-{secrets.token_hex(4)}",
            fence=await self._bus.fences.current(self._robot),
            tools=[LOOK],
            deadline=max(self._deadline, time.time()) + self._settings.cancel_wait_s,
            task_id=self._task_id,
        )
        known = {name: url for name, url in servers.items() if name == "perception"}
        return Toolbox(known, grant, [LOOK], self._settings.look_timeout_s)


async def _ignore(_fraction: float | None, _message: str) -> None:
    return None
