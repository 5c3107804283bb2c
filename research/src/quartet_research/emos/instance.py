"""Instance of a task: building, robots, things and goals; stored as JSON."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from quartet_research.emos.goals import At, Goal
from quartet_simulation.buildings import Stand, Thing


class Instance(BaseModel):
    """A task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    family: str
    seed: int
    attempt: int = 0
    """Number of earlier drafts that were redrawn."""
    building: str
    robots: Mapping[str, str]
    """Body of each robot, by the robot's name."""
    starts: Mapping[str, Stand]
    things: Mapping[str, Thing]
    """Objects, and places for them."""
    goals: Sequence[Goal]
    subtasks: Mapping[str, Sequence[int]]
    """Goals of each thing that one robot takes over, by their positions in `goals`."""
    step_limit: int

    @property
    def stays(self) -> frozenset[int]:
        """Subtasks that end with the robot at the thing."""
        return frozenset(
            at for at in range(len(self.subtasks)) if not any(isinstance(goal, At) for goal in self.goals_of(at))
        )

    def goals_of(self, subtask: int) -> list[Goal]:
        """Return the goals of a subtask."""
        return [self.goals[at] for at in list(self.subtasks.values())[subtask]]
