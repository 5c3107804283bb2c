"""Pictures of the world between two skills, for the journal."""

import asyncio
import logging

from quartet_bus import Bus
from quartet_contracts.journal import Note, Observation
from quartet_orchestrator.observation import CameraClient
from quartet_orchestrator.recovery import TaskRecord

log = logging.getLogger(__name__)


class PictureRecorder:
    """Takes pictures for one task in the background. A look that fails is noted in the journal, and nothing else."""

    def __init__(self, record: TaskRecord, bus: Bus, cameras: CameraClient) -> None:
        self._record = record
        self._bus = bus
        self._cameras = cameras
        self._taking: asyncio.Task[None] | None = None

    def take(self, label: str) -> None:
        """Begin to take pictures; `finish` waits for them."""
        self._taking = asyncio.create_task(self._observe(label))

    async def finish(self) -> None:
        """Wait for the pictures that are being taken."""
        if self._taking is not None:
            taking, self._taking = self._taking, None
            try:
                await taking
            except Exception as error:
                log.warning("pictures of task %s: %s", self._record.task.task_id, error)

    async def _observe(self, label: str) -> None:
        outcome = await self._cameras.look("both")
        if not outcome.ok or not outcome.images:
            await self._record.write(Note(text=f"no pictures {label}: {outcome.error_code} {outcome.message}"[:1000]))
            return
        cameras = [str(name) for name in outcome.content.get("cameras", [])] or ["front", "arm"]
        images: dict[str, str] = {}
        for camera, image in zip(cameras, outcome.images, strict=False):
            images[camera] = await self._bus.images.put(self._record.task.task_id, image.data, image.media_type)
        await self._record.write(Observation(label=label, images=images))
