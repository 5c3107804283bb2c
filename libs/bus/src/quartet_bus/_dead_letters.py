"""Entries that cannot be handled, kept with the reason for a person to look at."""

import re
import time
from dataclasses import dataclass

from quartet_bus._keys import WRITERS
from quartet_bus._link import Command
from quartet_bus._part import Part
from quartet_bus._skipped import log_skipped
from quartet_bus.functions.records import CountEntries, ReadNewest
from quartet_process import redact_bytes

LETTER_BYTES = 128 * 1024
MOST_BYTES = 4 * 1024 * 1024
"""Read from one writer at once."""
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
            stream = self._keys.dead(writer)
            for entry_id, fields in await self._store.run(ReadNewest(stream, limit, LETTER_BYTES, MOST_BYTES)):
                try:
                    letters.append(_letter(fields))
                except (KeyError, ValueError) as error:
                    log_skipped("dead letter", f"{entry_id} of {stream}", error)
        return sorted(letters, key=lambda letter: letter.at, reverse=True)[:limit]

    async def count(self) -> int:
        """Drop the letters beyond the limit of each writer, and return how many there are."""
        cap = self._options.dead_letters
        return sum([await self._store.run(CountEntries(self._keys.dead(writer), cap)) for writer in WRITERS])


def _letter(fields: dict[bytes, bytes] | None) -> DeadLetter:
    """Return the letter in the fields of an entry. Raises KeyError or ValueError where there is none."""
    if fields is None:
        raise ValueError(f"it has more than {LETTER_BYTES} bytes")
    text = {k.decode(errors="replace"): v.decode(errors="replace") for k, v in fields.items()}
    return DeadLetter(text["stream"], text["entry_id"], text["reason"], text["message"], float(text["at"]))
