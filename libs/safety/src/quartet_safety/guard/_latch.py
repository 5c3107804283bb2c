"""The latch of a stop: set by anybody, released by a person, kept in a file across restarts."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from quartet_safety._durable import write_durably

REMEDY = "see that the robot may move, then reset"


@dataclass(frozen=True)
class Latch:
    """Whether something is stopped, why, and since when (Unix time [s])."""

    latched: bool = False
    reason: str = ""
    since: float = 0.0
    stops: int = 0
    """How often it was set so far; 0 for a writer that does not count."""


class LatchFile:
    """A latch on disk, as a JSON object. Without a file nothing is stopped; an unreadable file counts as a stop."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Latch:
        """Return the latch. Never raises: where it cannot be told whether the robot may move, it is stopped."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return Latch()
        except (OSError, UnicodeDecodeError) as error:
            return Latch(latched=True, reason=f"the latch file {self.path} cannot be read ({error}): {REMEDY}")
        try:
            content = json.loads(text)
            stops = int(content.get("stops", 0))
            if content["latched"] is False:
                return Latch(stops=stops)
            since = float(content.get("since", 0.0))
            return Latch(latched=True, reason=str(content["reason"]), since=since, stops=stops)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return Latch(latched=True, reason=f"the latch file {self.path} is damaged: {REMEDY}")

    def write(self, latch: Latch) -> None:
        """Replace the latch; it is on disk before this returns.

        Raises:
            OSError: the file cannot be written.
        """
        write_durably(self.path, json.dumps(asdict(latch)))
