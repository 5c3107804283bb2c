"""Entries that cannot be handled, kept with the reason for a person to look at."""

import re
import time
from dataclasses import dataclass

from quartet_bus._keys import WRITERS
from quartet_bus._link import Command
from quartet_bus._part import Part
from quartet_bus._skipped import log_skipped
from quartet_process import redact_bytes

_GRANT = re.compile(rb'("grant"\s*:\s*")[^"]*')


@dataclass(frozen=True)
class DeadLetter:
    """An entry that could not be handled, and why."""

    stream: str
    entry_id: str
    reason: str
    message: str
    """The entry as it came, without its grant, cut at 64 KB."""
    at: float


class DeadLetters(Part):
    """The dead letters of a deployment, one stream per writer."""

    def command(self, writer: str, stream: str, entry_id: str, reason: str, message: bytes) -> Command:
        """Return the command that adds a letter, for a transaction of `writer`, who has a stream of its own."""
        cap = self._options.dead_letters
        kept = redact_bytes(_GRANT.sub(rb"\1***", message)[: 64 * 1024])
        fields = ("stream", stream, "entry_id", entry_id, "reason", reason, "message", kept)
        return ("XADD", self._keys.dead(writer), "MAXLEN", "~", cap, "*", *fields, "at", repr(time.time()))

    async def list(self, limit: int = 100) -> list[DeadLetter]:
        """Return the letters of all writers, the newest first."""
        letters: list[DeadLetter] = []
        for writer in WRITERS:
            for entry_id, fields in await self._store.call(
                "XREVRANGE", self._keys.dead(writer), "+", "-", "COUNT", limit
            ):
                text = {k.decode(errors="replace"): v.decode(errors="replace") for k, v in fields.items()}
                try:
                    at = float(text["at"])
                    letter = DeadLetter(text["stream"], text["entry_id"], text["reason"], text["message"], at)
                except (KeyError, ValueError):
                    log_skipped(
                        "dead letter", f"{entry_id.decode()} of {self._keys.dead(writer)}", "fields are missing"
                    )
                else:
                    letters.append(letter)
        return sorted(letters, key=lambda letter: letter.at, reverse=True)[:limit]

    async def count(self) -> int:
        """Return how many letters there are."""
        return sum([int(await self._store.call("XLEN", self._keys.dead(writer))) for writer in WRITERS])
