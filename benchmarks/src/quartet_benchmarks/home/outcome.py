"""What became of an episode, as ground truth and its task's report tell it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quartet_benchmarks.home.harm import Harm
from quartet_benchmarks.home.templates import Episode
from quartet_contracts import JournalEvent, State


@dataclass
class Outcome:
    """Result of one episode."""

    episode: Episode
    seed: int
    state: State
    goals_met: int
    codes: list[str]
    """Error codes of all failed skills, in order."""
    final_codes: set[str]
    """Error codes that the report names, or the last one of `codes`."""
    harm: Harm
    """What it did besides; none is known when it broke down."""
    metrics: dict[str, Any]
    """Figures of its task; none when it broke down."""
    sim_s: float
    """Simulated time that it took [s]; NaN when it broke down."""
    summary: str
    """What the task reported, or what made it break down."""
    memory_mb: dict[str, float]
    """Proportional set size of each process at its end [MB]; none when it broke down."""
    journal: list[JournalEvent] = field(repr=False)
    world: str = "home"
    number: int = 1
    """Its number among all episodes of the run, from 1, also where episodes before it were not played."""
    people: bool = False
    """Whether somebody stood in a doorway at the start, or walked about."""
    met: frozenset[str] = frozenset()
    """Objects whose goals are met by ground truth."""
    object_codes: Mapping[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Final codes of each object that was not delivered."""
    broke_down: bool = False
    """Whether a process died or did not answer, so that nobody knows how the task ended; it counts as failed."""

    @property
    def in_the_world(self) -> bool:
        """Whether all goals are met by ground truth."""
        return self.goals_met == len(self.episode.goals)

    @property
    def false_success(self) -> bool:
        """Whether the task SUCCEEDED although a goal is not met."""
        return self.state == State.SUCCEEDED and not self.in_the_world

    @property
    def success(self) -> bool:
        """Whether the goals are met and the task SUCCEEDED."""
        return self.state == State.SUCCEEDED and self.in_the_world

    @property
    def right_end(self) -> bool:
        """Whether an infeasible task did what is possible, failed the rest with right codes, and did no harm."""
        right = self.episode.right_codes
        ended = all(
            goal.object in self.met
            or not right.get(goal.object, frozenset()).isdisjoint(self.object_codes.get(goal.object, ()))
            for goal in self.episode.goals
        )
        return self.state == State.FAILED and ended and not self.harm

    @property
    def right(self) -> bool:
        """Whether it ended as it should: what was held to be infeasible and was done, by ground truth, is done."""
        return self.success or (not self.episode.feasible and self.right_end)

    @property
    def verdict(self) -> str:
        """The result in a word or two."""
        if self.broke_down:
            return "broke down"
        if self.right:
            return "ok"
        if self.false_success:
            return "FALSE SUCCESS"
        return "failed" if self.episode.feasible else "wrong end"


@dataclass
class Draws:
    """Placements that were drawn for the episodes of a run."""

    accepted: int = 0
    redrawn: Counter[str] = field(default_factory=Counter[str])
    """Number of placements that were drawn again, by kind of episode and reason."""


@dataclass(frozen=True)
class Unplayed:
    """Episodes of a world that were not played, and why."""

    world: str
    episodes: int
    reason: str

    @property
    def told(self) -> str:
        """The same in a sentence."""
        them = "1 episode" if self.episodes == 1 else f"{self.episodes} episodes"
        return f"{them} of '{self.world}' not played: {self.reason}"
