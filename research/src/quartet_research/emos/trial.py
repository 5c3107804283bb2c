"""One trial: a team, or a baseline without a model, plays an instance."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from quartet_benchmarks.errors import OptionError
from quartet_research.emos.assignments import all_to
from quartet_research.emos.families import FAMILIES
from quartet_research.emos.generate import Made, make
from quartet_research.emos.goals import At, Goal, NotHolding
from quartet_research.emos.options import ALL_TO_ONE, RANDOM, TRY_ALL
from quartet_research.emos.oracle import play, work_of
from quartet_research.emos.programs import run_check
from quartet_research.emos.scene import problem_of
from quartet_research.emos.stage import EpisodeStage
from quartet_simulation.errors import SimulationError
from quartet_teams import Discussion, Model, NoPlanError, SilentError, Turn
from quartet_teams.emos import Ending, Outcome, Result, method_of, work

ACTING = "\n# Functions\n"
"""Heading of the prompts with which robots act."""
AT_OBJECT, AT_RECEPTACLE = "Robot_At_Object", "Robot_At_Receptacle"
PLACED, DETECTED = "Object_At_Receptacle", "Robot_Detect_Object"
SUBGOALS = (AT_OBJECT, AT_RECEPTACLE, PLACED, DETECTED)
"""Kinds of sub-goals, as the paper names them."""
KIND_OF = {"any_at": AT_OBJECT, "at": PLACED, "is_detected": DETECTED}


@dataclass(frozen=True)
class Trial:
    """Outcome of an episode."""

    succeeded: bool
    """By ground truth: all goals were true at the same step."""
    claimed: bool = False
    """Whether the group ended by itself, after calls that all ended well."""
    reason: str = ""
    """Why it failed; empty if it succeeded."""
    calls: int = 0
    """Of the model."""
    tokens: int = 0
    """Of discussion and execution."""
    discussion_tokens: int = 0
    steps: int = 0
    """Of the simulation, 0.1 s each."""
    subgoals: tuple[str, ...] = ()
    """Kinds of the sub-goals."""
    reached: tuple[str, ...] = ()
    """Kinds of the sub-goals that were true at some step."""
    rounds: int = 0
    """Assignments in all discussions."""
    refusals: int = 0
    """Answers of the leader that were no valid assignment, and answers that were no call."""
    chance: float = 0.0
    """Share of all assignments that succeed."""
    kept_as_published: bool = False
    """Whether the published rule keeps the instance, too; of baselines."""
    cpu_s: float = 0.0
    """Processor time, without that of making the instance."""

    @property
    def false_success(self) -> bool:
        """Whether the group claims a success that is none."""
        return self.claimed and not self.succeeded


@lru_cache(maxsize=1024)
def made_of(task: str, seed: int) -> Made:
    """Return an instance with its proof. Raises OptionError if it cannot be made, such as without a body's model."""
    try:
        return make(task, seed)
    except SimulationError as error:
        raise OptionError(str(error)) from error


def seed_of(task: str, seed: int) -> int:
    """Return a seed for what is drawn in a trial; it differs between families."""
    return len(FAMILIES) * seed + list(FAMILIES).index(task)


async def play_team(framework: str, task: str, seed: int, model: Model) -> Trial:
    """Let a team play an instance. A leader without a valid assignment or answer is a failure.

    Args:
        framework: name of a method.
        task: family of the instance.
        seed: of the instance.
        model: answers for every participant.
    """
    made = made_of(task, seed)
    began, stage, discussion = cpu_s(), EpisodeStage(made.instance), Discussion(model)
    result, error = Result(), ""
    try:
        result = await work(problem_of(made.instance), method_of(framework), stage, discussion, run_check)
    except (NoPlanError, SilentError) as raised:
        error = f"{'no assignment' if isinstance(raised, NoPlanError) else 'the leader is silent'}: {raised}"
    return Trial(
        succeeded=stage.succeeded,
        claimed=result.claims_done,
        reason="" if stage.succeeded else error or _reason(result),
        calls=len(discussion.turns),
        tokens=_tokens(discussion.turns),
        discussion_tokens=_tokens([turn for turn in discussion.turns if ACTING not in turn.prompt]),
        steps=stage.steps,
        rounds=sum(one.rounds for one in result.agreements),
        refusals=len(discussion.refusals) + sum(one.malformed for one in result.acted),
        cpu_s=round(cpu_s() - began, 3),
        **_shared(made, stage.reached, stage.outcomes),
    )


@lru_cache(maxsize=8192)
def play_baseline(name: str, task: str, seed: int, robot: str = "") -> Trial:
    """Play a baseline, which asks no model, so that it is played once for all models.

    Args:
        name: one of BASELINES.
        task: family of the instance.
        seed: of the instance.
        robot: body of the robot that does everything, for all-to-one.
    """
    made = made_of(task, seed)
    instance, count = made.instance, len(made.instance.subtasks)
    robots = list(instance.robots)
    if name == TRY_ALL:
        shares = dict.fromkeys(robots, range(count))
    else:
        assignment = made.proof.winners[0]
        if name == RANDOM:
            rng = np.random.default_rng([seed_of(task, seed), count])
            assignment = tuple(rng.choice(robots, count).tolist())
        elif name == ALL_TO_ONE:
            assignment = all_to(next(one for one in robots if instance.robots[one] == robot), count)
        shares = work_of(instance, assignment)
    began = cpu_s()
    played = play(instance, shares)
    failed = [f"{one.call.function} failed" for one in played.outcomes if one.reason]
    if played.steps >= instance.step_limit:
        failed = ["step limit"]
    return Trial(
        succeeded=played.succeeded,
        reason="" if played.succeeded else next(iter(failed), "goals missed"),
        steps=played.steps,
        kept_as_published=made.proof.published_rule,
        cpu_s=round(cpu_s() - began, 3),
        **_shared(made, played.reached, played.outcomes),
    )


def subgoals_of(
    goals: Sequence[Goal], reached: Sequence[bool], outcomes: Sequence[Outcome]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the kinds of all sub-goals, and of those that were true at some step.

    A goal to put an object at a place has two more sub-goals: that a robot has gone to the object, and to the place.
    """
    went = {
        one.call.arguments["target_obj"] for one in outcomes if one.call.function == "nav_to_obj" and not one.reason
    }
    found: list[tuple[str, bool]] = []
    for goal, true in zip(goals, reached, strict=True):
        if isinstance(goal, At):
            found += [(AT_OBJECT, goal.thing in went), (AT_RECEPTACLE, goal.place in went)]
        if not isinstance(goal, NotHolding):
            found.append((KIND_OF[goal.kind], true))
    return tuple(kind for kind, _ in found), tuple(kind for kind, true in found if true)


def cpu_s() -> float:
    """Return the processor time of this process and of those that it has ended [s]."""
    return sum(os.times()[:4])


def _shared(made: Made, reached: Sequence[bool], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the fields that teams and baselines have."""
    subgoals, true = subgoals_of(made.instance.goals, reached, outcomes)
    return {"subgoals": subgoals, "reached": true, "chance": made.proof.chance}


def _tokens(turns: Sequence[Turn]) -> int:
    return sum(turn.answer.tokens_in + turn.answer.tokens_out for turn in turns)


def _reason(result: Result) -> str:
    """Return why a team that has ended its work has failed."""
    if silent := dict.fromkeys(name for one in (*result.agreements, *result.acted) for name in one.silent):
        return f"dropped out: {', '.join(silent)}"
    last = result.acted[-1]
    if last.ending is Ending.OVER:
        return "step limit"
    if last.failures:
        return f"{last.failures[0].call.function} failed: {last.failures[0].reason}"
    return "goals missed"
