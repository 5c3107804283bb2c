"""A person pauses a task: it stops before its next step and goes on when the person says so."""

from quartet_bus import Bus
from quartet_contracts import State
from quartet_orchestrator.progress import TaskRecord


class Gate:
    """Every step of a task passes through here first."""

    def __init__(self, record: TaskRecord, bus: Bus) -> None:
        self._record = record
        self._bus = bus

    async def step(self) -> None:
        """Returns at once, or after the person has let the task go on."""
        task_id = self._record.task.task_id
        reason = await self._bus.tasks.pause_reason(task_id)
        if reason is None and self._record.state is not State.PAUSED:
            return
        if self._record.state is not State.PAUSED:
            await self._record.move(State.PAUSED, reason or "")
        await self._bus.tasks.resumed(task_id)
        await self._record.move(State.INITIALIZING, "a person let the task go on")
        await self._record.move(State.RUNNING)
