"""Images of a task; journal and transcripts hold references only."""

import hashlib

from quartet_bus._keys import Keys
from quartet_bus._store import Store
from quartet_bus.errors import BusError
from quartet_bus.options import BusOptions


class Images:
    def __init__(self, store: Store, keys: Keys, options: BusOptions) -> None:
        self._store = store
        self._keys = keys
        self._options = options

    async def put(self, task_id: str, data: bytes, media_type: str) -> str:
        """Store an image and return its reference; the same image has the same reference."""
        if len(data) > self._options.image_bytes:
            raise BusError(f"an image of {len(data)} bytes is over the cap of {self._options.image_bytes}")
        reference = hashlib.sha256(data).hexdigest()[:24]
        expiry = round(self._options.images_s * 1000)
        await self._store.call(
            "SET", self._keys.image(task_id, reference), media_type.encode() + b"\n" + data, "PX", expiry
        )
        return reference

    async def get(self, task_id: str, reference: str) -> tuple[bytes, str] | None:
        """Data and media type, or None when it is not there (any more)."""
        value = await self._store.call("GET", self._keys.image(task_id, reference))
        if value is None:
            return None
        media_type, _, data = value.partition(b"\n")
        return data, media_type.decode()
