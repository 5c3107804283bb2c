"""What the models of a task saw and said, one transcript per loop."""

import json
import zlib
from typing import Any

from quartet_bus._keys import Keys
from quartet_bus._store import Store
from quartet_bus.errors import BusError
from quartet_bus.options import BusOptions
from quartet_process import redact


class Transcripts:
    def __init__(self, store: Store, keys: Keys, options: BusOptions) -> None:
        self._store = store
        self._keys = keys
        self._options = options

    async def save(self, task_id: str, loop_id: str, transcript: dict[str, Any]) -> None:
        """Replace the transcript of `loop_id`."""
        data = zlib.compress(redact(json.dumps(transcript, separators=(",", ":"))).encode(), 1)
        if len(data) > self._options.transcript_bytes:
            raise BusError(
                f"transcript '{loop_id}' has {len(data)} bytes compressed, the cap is {self._options.transcript_bytes}"
            )
        key = self._keys.transcripts(task_id)
        await self._store.transaction(
            ("HSET", key, loop_id, data), ("PEXPIRE", key, round(self._options.records_s * 1000))
        )

    async def get(self, task_id: str, loop_id: str) -> dict[str, Any] | None:
        data = await self._store.call("HGET", self._keys.transcripts(task_id), loop_id)
        return None if data is None else json.loads(zlib.decompress(data))

    async def list(self, task_id: str) -> list[str]:
        """Names of the loops, sorted."""
        return sorted(name.decode() for name in await self._store.call("HKEYS", self._keys.transcripts(task_id)))
