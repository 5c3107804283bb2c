"""The latch of a stop: set by anybody, released by a person, kept across restarts."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from quartet_contracts.durable import write_durably
from quartet_contracts.wire import describe


class Latch(BaseModel):
    """Whether something is stopped, why, and since when (Unix time [s])."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    latched: bool = False
    reason: str = ""
    since: float = 0.0


class LatchFile:
    """A latch on disk. Without a file nothing is stopped; a file that cannot be read counts as a stop."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Latch:
        """Never raises: who cannot tell whether the robot may move keeps it stopped, and says why."""
        try:
            return Latch.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return Latch()
        except (OSError, ValidationError) as error:
            why = describe(error) if isinstance(error, ValidationError) else error.strerror or error
            return Latch(latched=True, reason=f"the latch file {self.path} cannot be read: {why}")

    def write(self, latch: Latch) -> None:
        """On disk before this returns. Raises OSError."""
        write_durably(self.path, latch.model_dump_json())
