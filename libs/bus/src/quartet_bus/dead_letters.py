"""Entries that cannot be handled, kept with the reason for a person to look at."""

import re
import time
from dataclasses import dataclass

from quartet_bus._keys import Keys
from quartet_bus._link import Command
from quartet_bus._store import Store
from quartet_bus.options import BusOptions
from quartet_process import redact_bytes

_GRANT = re.compile(rb'("grant"\s*:\s*")[^"]*')


@dataclass(frozen=True)
class DeadLetter:
    stream: str
    entry_id: str
    reason: str
    message: str
    """The entry as it came, without its grant, cut at 64 KB."""
    at: float


class DeadLetters:
    def __init__(self, store: Store, keys: Keys, options: BusOptions) -> None:
        self._store = store
        self._keys = keys
        self._options = options

    def command(self, stream: str, entry_id: str, reason: str, message: bytes) -> Command:
        """Adds a letter, as a command for a transaction."""
        cap = self._options.dead_letters
        kept = redact_bytes(_GRANT.sub(rb"\1***", message)[: 64 * 1024])
        fields = ("stream", stream, "entry_id", entry_id, "reason", reason, "message", kept)
        return ("XADD", self._keys.dead, "MAXLEN", "~", cap, "*", *fields, "at", repr(time.time()))

    async def list(self, limit: int = 100) -> list[DeadLetter]:
        """The newest letters first."""
        entries = await self._store.call("XREVRANGE", self._keys.dead, "+", "-", "COUNT", limit)
        letters: list[DeadLetter] = []
        for _, fields in entries:
            text = {k.decode(): v.decode(errors="replace") for k, v in fields.items()}
            letters.append(
                DeadLetter(text["stream"], text["entry_id"], text["reason"], text["message"], float(text["at"]))
            )
        return letters
