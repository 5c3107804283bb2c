"""Makes instances: drafts them from seeds, and keeps those that a proof bears out."""

import itertools
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import factorial

import numpy as np

from quartet_benchmarks.errors import OptionError
from quartet_research.emos.assignments import Assignment
from quartet_research.emos.drafting import Drafting, Part, RedrawError
from quartet_research.emos.families import FAMILIES
from quartet_research.emos.goals import Goal, NotHolding
from quartet_research.emos.house import building_names, building_of
from quartet_research.emos.instance import Instance
from quartet_research.emos.proof import TRY_ALL, Proof, prove

MOST_DRAFTS = 500
LEAST_GAIN = 1.4
"""Least factor by which a task takes longer if each robot tries all of it, as a draft estimates it."""


@dataclass(frozen=True)
class Made:
    """Instance with its proof."""

    instance: Instance
    proof: Proof
    redraws: Counter[str] = field(default_factory=Counter[str])
    """Drafts that were not kept, by reason."""
    cpu_s: float = 0.0


def generate(family: str, seed: int) -> Instance:
    """Return the instance of a seed; equal seeds give equal instances. Raises OptionError."""
    return make(family, seed).instance


def make(family: str, seed: int) -> Made:
    """Draft and prove the instance of a seed until a draft is kept.

    Raises:
        OptionError: an unknown family, or no draft was kept.
    """
    if family not in FAMILIES:
        raise OptionError(f"there is no family '{family}'; valid: {', '.join(FAMILIES)}")
    began, redraws = time.process_time(), Counter[str]()
    for attempt in range(MOST_DRAFTS):
        try:
            instance, intended = draft(family, seed, attempt)
            proof = prove(instance, exempt=bool(FAMILIES[family].sizes))
            if intended not in proof.winners:
                raise RedrawError("another assignment succeeds")
        except RedrawError as error:
            redraws[str(error)] += 1
            continue
        kept = instance.model_copy(update={"step_limit": proof.step_limit})
        return Made(kept, proof, redraws, time.process_time() - began)
    reasons = ", ".join(f"{count} times {reason}" for reason, count in redraws.most_common())
    raise OptionError(f"none of {MOST_DRAFTS} drafts of {family} with seed {seed} was kept: {reasons}")


def draft(family: str, seed: int, attempt: int) -> tuple[Instance, Assignment]:
    """Return a draft, whose step limit is the published one, and the assignment that should succeed.

    Raises:
        RedrawError: the building that was drawn has no such spots.
    """
    about = FAMILIES[family]
    rng = np.random.default_rng([list(FAMILIES).index(family), seed, attempt])
    names = [name for name in building_names() if len(building_of(name).storeys) >= about.storeys]
    if not names:
        raise OptionError(f"no building has {about.storeys} storeys, which {family} needs; add one to deploy/buildings")
    name = str(rng.choice(names))
    storey = str(rng.choice(list(building_of(name).storeys)))
    robots, objects = about.sizes[seed % len(about.sizes)] if about.sizes else (len(about.bodies), 0)
    bodies = list(itertools.islice(itertools.cycle(about.bodies), robots))
    # Which robot is right is balanced: orders of things and robots, and which end decides, change in turn.
    turn, at = divmod(seed, factorial(objects or robots))
    turn, others = divmod(turn, factorial(robots))
    drafting = Drafting(rng, building_of(name), storey, bodies, objects)
    parts = about.draw(drafting, turn % 2 == 0)
    parts = [parts[one] for one in _permutation(len(parts), at)]
    if about.decided_by_time and drafting.gain(parts) < LEAST_GAIN:
        raise RedrawError(f"{TRY_ALL} nearly as fast")
    order = _permutation(robots, others)
    called = {member: f"agent_{number}" for number, member in enumerate(order)}
    goals: list[Goal] = [goal for part in parts for goal in part.goals]
    goals += [NotHolding(robot=robot) for robot in called.values()] * about.not_holding
    instance = Instance(
        family=family,
        seed=seed,
        attempt=attempt,
        building=name,
        robots={called[one]: bodies[one] for one in order},
        starts={called[one]: drafting.members[one].start for one in order},
        things={thing: what for part in parts for thing, what in part.things.items()},
        goals=goals,
        subtasks=_subtasks(parts),
        step_limit=about.step_limit,
    )
    return instance, tuple(called[part.right] for part in parts)


def _permutation(count: int, number: int) -> list[int]:
    """Return a permutation of range(count) by its number."""
    left, chosen = list(range(count)), list[int]()
    while left:
        number, at = divmod(number, len(left))
        chosen.append(left.pop(at))
    return chosen


def _subtasks(parts: Sequence[Part]) -> dict[str, list[int]]:
    """Return the positions of the goals of each part, by the name of its first thing."""
    ends = list(itertools.accumulate(len(part.goals) for part in parts))
    return {
        next(iter(part.things)): list(range(end - len(part.goals), end)) for part, end in zip(parts, ends, strict=True)
    }
