"""Oracle: plays assignments on the stage of the teams, without a look at what made the instance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quartet_research.emos.assignments import Assignment
from quartet_research.emos.goals import At, Goal, NotHolding
from quartet_research.emos.instance import Instance
from quartet_research.emos.stage import EpisodeStage
from quartet_teams.emos import Call, CallError, Outcome

WAIT = Call("wait")
Work = Mapping[str, Sequence[int]]
"""Subtasks of each robot, in the order in which it tries them."""


@dataclass
class Played:
    """Result of a play."""

    succeeded: bool
    """Whether all goals were true at the same step."""
    reached: Sequence[bool]
    """Whether each goal was true at some step."""
    steps: int
    outcomes: Sequence[Outcome]


@dataclass
class _Actor:
    errands: list[list[Call]]
    """Calls of each subtask that is left."""
    waits: bool = False

    def next(self, *, failed: bool) -> Call:
        """Return the next call; after a failure, the first of the next subtask."""
        if failed and self.errands:
            self.errands.pop(0)
        while self.errands and not self.errands[0]:
            self.errands.pop(0)
        self.waits = not self.errands
        return WAIT if self.waits else self.errands[0].pop(0)


def calls_of(goals: Sequence[Goal]) -> list[Call]:
    """Return the calls by which one robot reaches the goals of a subtask."""
    for goal in goals:
        if isinstance(goal, At):
            return [
                Call("nav_to_obj", {"target_obj": goal.thing}),
                Call("pick", {"target_obj": goal.thing}),
                Call("nav_to_obj", {"target_obj": goal.place}),
                Call("place", {"target_obj": goal.thing, "target_location": goal.place}),
            ]
    things = dict.fromkeys(goal.thing for goal in goals if not isinstance(goal, NotHolding))
    return [Call("nav_to_obj", {"target_obj": thing}) for thing in things]


def work_of(instance: Instance, assignment: Assignment) -> Work:
    """Return the subtasks of each robot; those that end with the robot at the thing come last."""
    order = sorted(range(len(assignment)), key=lambda at: at in instance.stays)
    return {robot: [at for at in order if assignment[at] == robot] for robot in instance.robots}


def play(
    instance: Instance, work: Work, *, goals: Sequence[Goal] | None = None, step_limit: int | None = None
) -> Played:
    """Let the robots do their subtasks at the same time, until all wait or the stage is over.

    Args:
        instance: what is played.
        work: subtasks of each robot. It leaves a subtask after a call that fails.
        goals: those that count, by default all.
        step_limit: by default that of the instance.
    """
    stage = EpisodeStage(instance, goals=goals, step_limit=step_limit)
    actors = {name: _Actor([calls_of(instance.goals_of(at)) for at in work.get(name, ())]) for name in instance.robots}
    idle = dict.fromkeys(actors, False)
    while not stage.over:
        for robot, failed in idle.items():
            _begin(stage, robot, actors[robot], failed=failed)
        if all(actor.waits for actor in actors.values()):
            break
        ended = stage.step()
        idle = {outcome.robot: bool(outcome.reason) for outcome in ended}
    return Played(stage.succeeded, stage.reached, stage.steps, stage.outcomes)


def _begin(stage: EpisodeStage, robot: str, actor: _Actor, *, failed: bool) -> None:
    """Begin the next call that the stage accepts; waiting always is."""
    while True:
        try:
            return stage.begin(robot, actor.next(failed=failed))
        except CallError:
            failed = True
