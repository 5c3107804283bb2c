"""The orchestrator's own look at the world: the perception server's `look`, and nothing else."""

import time

from quartet_agent_runtime import Progress, ToolOutcome
from quartet_bus import Bus
from quartet_orchestrator.grants import Signer
from quartet_orchestrator.reader import Reader
from quartet_orchestrator.settings import OrchestratorSettings

LOOK = "perception__look"


class Eyes:
    """Looks through the cameras of one robot for a task until its `deadline`. Never raises for what a server did."""

    def __init__(
        self,
        robot: str,
        bus: Bus,
        signer: Signer,
        settings: OrchestratorSettings,
        *,
        task_id: str,
        deadline: float,
    ) -> None:
        def until() -> float:
            return max(deadline, time.time()) + settings.cancel_wait_s

        self._reader = Reader(robot, [LOOK], bus, signer, settings, until=until, task_id=task_id)

    async def look(self, camera: str, progress: Progress | None = None) -> ToolOutcome:
        """JPEGs of `camera` (front, arm or both)."""
        return await self._reader.call(LOOK, {"camera": camera}, progress)

    async def close(self) -> None:
        await self._reader.close()
