"""What a team sees of the arm and its table."""

from dataclasses import dataclass
from typing import Protocol, Self


@dataclass(frozen=True)
class Facts:
    """Numbers that the prompts tell."""

    table_z: float
    """Height of the table's top [m]."""
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    """Workspace [m]."""
    safe_m: float
    """Distance above an object that is safe [m]."""
    release_m: float
    """Distance above the place where an object is let go [m]."""
    hand_position: tuple[float, float, float]
    """Where the hand begins [m]."""
    hand_yaw: float
    """[rad]."""
    axes: str = "x points to the right, y away from you, z up"
    """Directions of the axes, in words."""


@dataclass(frozen=True)
class Execution:
    """What came of a program: its exit code, and what it printed, followed by the state where it succeeded."""

    exit_code: int
    output: str

    @classmethod
    def succeeded(cls, printed: str, state: str) -> Self:
        """Return that of a program that ended well: what it printed, if anything, and the state after it."""
        return cls(0, "\n".join(part for part in (printed.strip(), state) if part))


class Arm(Protocol):
    """An arm at a table, and the task that it is to do."""

    @property
    def instruction(self) -> str:
        """The task, as a person says it."""
        ...

    @property
    def facts(self) -> Facts:
        """Numbers for the prompts."""
        ...

    @property
    def completed(self) -> bool:
        """Whether a program has called task_completed()."""
        ...

    def state(self) -> str:
        """Return the state of the table as text."""
        ...

    async def execute(self, code: str) -> Execution:
        """Run a program."""
        ...
