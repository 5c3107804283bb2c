"""Transcripts of the model loops of a task."""

import json
import zlib
from typing import Any, cast

from quartet_bus._keys import WRITERS
from quartet_bus._part import Part
from quartet_bus._skipped import log_skipped
from quartet_bus.errors import BusError
from quartet_bus.functions.records import ListFields
from quartet_process import redact, tracing

LOOPS = 1_000
"""Most loops of one writer in a task; names of more, or of more than NAME_BYTES bytes, are not listed."""
NAME_BYTES = 200


class Transcripts(Part):
    """Transcripts of model loops, by task and loop."""

    async def save(self, task_id: str, loop_id: str, transcript: dict[str, Any]) -> None:
        """Replace the transcript of `loop_id`."""
        with tracing.step("journal transcript"):
            await self._save(task_id, loop_id, transcript)

    async def _save(self, task_id: str, loop_id: str, transcript: dict[str, Any]) -> None:
        text = redact(json.dumps(transcript, separators=(",", ":"))).encode()
        if len(text) > self._options.transcript_bytes:
            raise BusError(f"transcript '{loop_id}' has {len(text)} bytes, the cap is {self._options.transcript_bytes}")
        data = zlib.compress(text, 1)
        key = self._keys.transcripts(self._role, task_id)
        await self._store.transaction(
            ("HSET", key, loop_id, data), ("PEXPIRE", key, round(self._options.records_s * 1000))
        )

    async def get(self, task_id: str, loop_id: str) -> dict[str, Any] | None:
        """Return a transcript; None when there is none that can be read."""
        for writer in WRITERS:
            key = self._keys.transcripts(writer, task_id)
            size = int(await self._store.call("HSTRLEN", key, loop_id))
            if not size:
                continue
            try:
                if size > self._options.transcript_bytes:
                    raise ValueError(f"it has {size} bytes compressed, the cap is {self._options.transcript_bytes}")
                return _unpack(await self._store.call("HGET", key, loop_id), self._options.transcript_bytes)
            except (ValueError, TypeError, RecursionError, zlib.error) as error:
                log_skipped("transcript", f"{loop_id} of {key}", error)
        return None

    async def list(self, task_id: str) -> list[str]:
        """Return the names of the loops, sorted."""
        names: set[str] = set()
        for writer in WRITERS:
            key = self._keys.transcripts(writer, task_id)
            count, found = await self._store.run(ListFields(key, LOOPS, NAME_BYTES))
            if len(found) < count:
                log_skipped(
                    "transcript", key, f"of {count} names {len(found)} are listed; {LOOPS} and short ones may be"
                )
            names.update(name.decode(errors="replace") for name in found)
        return sorted(names)


def _unpack(data: bytes, most_bytes: int) -> dict[str, Any]:
    """Return the transcript in `data`. Raises ValueError or TypeError when it is too large or none."""
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(data, most_bytes)
    if unpacker.unconsumed_tail:
        raise ValueError(f"it has more than {most_bytes} bytes when it is decompressed")
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError(f"it is no JSON object but {type(found).__name__}")
    return cast("dict[str, Any]", found)
