"""The newest fence of a robot, kept on disk: it never goes down, also not across restarts."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from quartet_contracts import describe, write_durably


class FenceProblem(Exception):
    """The fence cannot be read or written; the server must not guess it."""


class _Stored(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    robot: str
    fence: int = Field(ge=0)


class FenceStore:
    """Highest fence that was seen for one robot by one server. Raises FenceProblem for an unreadable file."""

    def __init__(self, path: Path, robot: str) -> None:
        self.path, self.robot = path, robot
        kept = self._read()
        self.restarted = kept is not None
        """Whether an earlier process has used this file."""
        self._highest = kept or 0

    @property
    def highest(self) -> int:
        return self._highest

    def begin(self) -> None:
        """Leave the file behind, so that the next process knows that it is not the first. Raises FenceProblem."""
        if not self.restarted:
            self._write(self._highest)

    def install(self, fence: int) -> bool:
        """Make `fence` the minimum; on disk before this returns. False when it is not newer than the one there."""
        if fence <= self._highest:
            return False
        self._write(fence)
        self._highest = fence
        return True

    def _read(self) -> int | None:
        try:
            stored = _Stored.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            why = describe(error) if isinstance(error, ValidationError) else error
            raise FenceProblem(
                f"fence file {self.path} cannot be used: {why}; repair it or, with the robot at rest and no agent "
                "running, delete it"
            ) from error
        if stored.robot != self.robot:
            raise FenceProblem(
                f"fence file {self.path} belongs to robot '{stored.robot}', this server serves '{self.robot}'; "
                "give each robot its own QUARTET_STATE_DIR"
            )
        return stored.fence

    def _write(self, fence: int) -> None:
        try:
            write_durably(self.path, _Stored(robot=self.robot, fence=fence).model_dump_json())
        except OSError as error:
            raise FenceProblem(f"fence {fence} cannot be written to {self.path}: {error}") from error
