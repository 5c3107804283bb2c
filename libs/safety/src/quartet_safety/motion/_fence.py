"""The newest fence of a robot, kept on disk: it never decreases, also not across restarts."""

import json
from pathlib import Path
from typing import Any

from quartet_safety._durable import write_durably
from quartet_safety.errors import FenceError


class FenceStore:
    """Highest fence that one server has seen for one robot. Raises FenceError for a file that cannot be used."""

    def __init__(self, path: Path, robot: str) -> None:
        self.path, self.robot = path, robot
        stored = self._read()
        self.restarted = stored is not None
        """Whether an earlier process has used this file."""
        self._highest = stored or 0

    @property
    def highest(self) -> int:
        """The fence in force; callers with a lower one are refused."""
        return self._highest

    def begin(self) -> None:
        """Write the file, so that the next process knows that it is a restart. Raises FenceError."""
        if not self.restarted:
            self._write(self._highest)

    def install(self, fence: int) -> bool:
        """Make `fence` the minimum, on disk before this returns; return False if it is not newer. Raises FenceError."""
        if fence <= self._highest:
            return False
        self._write(fence)
        self._highest = fence
        return True

    def _read(self) -> int | None:
        try:
            stored: Any = json.loads(self.path.read_bytes())
            robot, fence = stored["robot"], stored["fence"]
            if type(robot) is not str or type(fence) is not int or fence < 0:
                raise ValueError("robot must be text and fence a whole number of at least 0")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            why = f"{error} is missing" if isinstance(error, KeyError) else error
            raise FenceError(
                f"fence file {self.path} cannot be used: {why}; repair it or, with the robot at rest and no agent "
                "running, delete it"
            ) from error
        if robot != self.robot:
            raise FenceError(
                f"fence file {self.path} belongs to robot '{robot}', this server serves '{self.robot}'; "
                "give each robot its own QUARTET_STATE_DIR"
            )
        return fence

    def _write(self, fence: int) -> None:
        try:
            write_durably(self.path, json.dumps({"robot": self.robot, "fence": fence}))
        except OSError as error:
            raise FenceError(f"fence {fence} cannot be written to {self.path}: {error}") from error
