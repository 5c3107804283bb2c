"""Proof of an instance: exactly one assignment succeeds, and not by trying everything."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quartet_research.emos.assignments import (
    Assignment,
    all_assignments,
    all_to,
    exactly_one_of_twins,
    succeeding,
)
from quartet_research.emos.drafting import RedrawError
from quartet_research.emos.instance import Instance
from quartet_research.emos.oracle import Played, play, work_of
from quartet_simulation.buildings import LIMITS

PLAYED_SHARE = 0.05
"""Share of the other assignments that are played in full."""
LEAST_MARGIN, MOST_MARGIN, SLACK = 1.15, 2.0, LIMITS["wait"]
"""Least and most of the step limit over the steps of the oracle, and steps that a limit may have more in any case."""
TRY_ALL = "every robot tries every goal"


@dataclass(frozen=True)
class Proof:
    """What the plays of an instance show."""

    pairs: Mapping[tuple[str, int], bool]
    """Whether each robot succeeds with each subtask alone."""
    winners: Sequence[Assignment]
    """Assignments that succeed, by the outcomes of the pairs."""
    full: Mapping[Assignment, Played]
    """Assignments that were played in full."""
    try_all: Played | None
    """Play in which every robot tries every goal, in the order of the task."""
    published_rule: bool
    """Whether the published rule keeps the instance: the plan succeeds and its swapped twin fails, or vice versa."""
    step_limit: int
    cpu_s: float

    @property
    def chance(self) -> float:
        """Share of all assignments that succeed: the success rate of a random one."""
        robots = {robot for robot, _ in self.pairs}
        return len(self.winners) / len(robots) ** (len(self.pairs) // len(robots))


def prove(draft: Instance, *, exempt: bool = False) -> Proof:
    """Play a draft, whose step limit is the most that it may have.

    Args:
        draft: instance to play.
        exempt: whether any number of assignments may succeed.

    Raises:
        RedrawError: the instance is not kept.
    """
    began = time.process_time()
    pairs = {
        (robot, at): play(draft, {robot: [at]}, goals=draft.goals_of(at)).succeeded
        for robot in draft.robots
        for at in range(len(draft.subtasks))
    }
    # The first one shares the work out among as many robots as possible.
    winners = sorted(succeeding(pairs, draft.stays), key=lambda one: -len(set(one)))
    if not winners or (len(winners) > 1 and not exempt):
        raise RedrawError(f"{len(winners)} assignments succeed")
    full = {one: play(draft, work_of(draft, one)) for one in _chosen(draft, winners)}
    if wrong := [one for one, played in full.items() if played.succeeded != (one in winners)]:
        raise RedrawError(f"the pairs and the whole play of an assignment disagree ({len(wrong)} of {len(full)})")
    try_all, limit = None, draft.step_limit
    if not exempt:
        every = list(range(len(draft.subtasks)))
        try_all = play(draft, dict.fromkeys(draft.robots, every))
        limit = limit_of(full[winners[0]].steps, try_all.steps if try_all.succeeded else None, limit)
    rule = exactly_one_of_twins(pairs, draft.stays, winners[0])
    return Proof(pairs, winners, full, try_all, rule, limit, time.process_time() - began)


def limit_of(oracle: int, try_all: int | None, most: int) -> int:
    """Return the step limit: between the steps of the oracle and those of trying everything (None: that fails).

    Raises:
        RedrawError: there is no limit that admits the oracle with a margin and not the other.
    """
    limit = min(most, max(round(MOST_MARGIN * oracle), oracle + SLACK))
    if try_all is not None:
        limit = min(limit, (oracle + try_all) // 2)
    if limit < LEAST_MARGIN * oracle:
        raise RedrawError("no step limit has a margin" if try_all is None else f"{TRY_ALL} in time")
    return limit


def _chosen(draft: Instance, winners: Sequence[Assignment]) -> list[Assignment]:
    """Return the assignments to play in full: a winner, all-to-one, and a random share of the rest."""
    robots, count = list(draft.robots), len(draft.subtasks)
    first = dict.fromkeys([winners[0], *(all_to(robot, count) for robot in robots)])
    rest = [one for one in all_assignments(robots, count) if one not in first]
    drawn = np.random.default_rng([draft.seed, draft.attempt]).random(len(rest)) < PLAYED_SHARE
    return [*first, *(one for one, take in zip(rest, drawn, strict=True) if take)]
