"""Images of a task; journal and transcripts hold references only."""

import hashlib

from quartet_bus._keys import WRITERS
from quartet_bus._part import Part
from quartet_bus._skipped import log_skipped
from quartet_bus.errors import BusError
from quartet_process import tracing

MEDIA_TYPE_BYTES = 200


class Images(Part):
    """Images of tasks, stored under the digest of their content."""

    async def put(self, task_id: str, data: bytes, media_type: str) -> str:
        """Store an image and return its reference; the same image has the same reference."""
        if len(data) > self._options.image_bytes:
            raise BusError(f"an image of {len(data)} bytes is over the cap of {self._options.image_bytes}")
        reference = _reference(data)
        expiry = round(self._options.images_s * 1000)
        key = self._keys.image(self._role, task_id, reference)
        with tracing.step("journal image"):
            await self._store.call("SET", key, media_type.encode() + b"\n" + data, "PX", expiry)
        return reference

    async def get(self, task_id: str, reference: str) -> tuple[bytes, str] | None:
        """Return data and media type; None when it has expired or does not match its digest."""
        for writer in WRITERS:
            key = self._keys.image(writer, task_id, reference)
            value = await self._store.call("GETRANGE", key, 0, self._options.image_bytes + MEDIA_TYPE_BYTES)
            if not value:
                continue
            media_type, _, data = value.partition(b"\n")
            if _reference(data) == reference:
                return data, media_type.decode(errors="replace")
            log_skipped("image", key, "its content has another digest")
        return None


def _reference(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:24]
