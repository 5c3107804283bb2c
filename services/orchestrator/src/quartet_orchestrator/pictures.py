"""Pictures of the world between two steps, for the record."""

import asyncio
import logging

from quartet_bus import Bus
from quartet_contracts.journal import Note, Observation
from quartet_orchestrator.eyes import Eyes
from quartet_orchestrator.progress import TaskRecord

log = logging.getLogger(__name__)


class Pictures:
    """Takes them for one task, beside what else goes on. A failing look is noted and does no harm."""

    def __init__(self, record: TaskRecord, bus: Bus, eyes: Eyes) -> None:
        self._record = record
        self._bus = bus
        self._eyes = eyes
        self._taking: asyncio.Task[None] | None = None

    def take(self, label: str) -> None:
        """Begin to take some; `finish` waits for them."""
        self._taking = asyncio.create_task(self._observe(label))

    async def finish(self) -> None:
        if self._taking is not None:
            taking, self._taking = self._taking, None
            try:
                await taking
            except Exception as error:
                log.warning("pictures of task %s: %s", self._record.task.task_id, error)

    async def _observe(self, label: str) -> None:
        outcome = await self._eyes.look("both")
        if not outcome.ok or not outcome.images:
            await self._record.write(Note(text=f"no pictures {label}: {outcome.error_code} {outcome.message}"[:1000]))
            return
        cameras = [str(name) for name in outcome.content.get("cameras", [])] or ["front", "arm"]
        images: dict[str, str] = {}
        for camera, image in zip(cameras, outcome.images, strict=False):
            images[camera] = await self._bus.images.put(self._record.task.task_id, image.data, image.media_type)
        await self._record.write(Observation(label=label, images=images))
