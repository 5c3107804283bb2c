"""Reference speakers: each role of a team played by rules, through the same prompts, with faults at given rates.

They prove the harness and compare the teams under equal faults. Their figures say nothing about a language model.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from quartet_research.harness.speakers import RuleSpeakers
from quartet_research.harness.world import WAIT, World
from quartet_research.planners import arm_table
from quartet_research.planners.arm_table import ArmTable
from quartet_research.planners.grid_worlds import BoxLift, good_step, lift_step
from quartet_research.planners.worlds import WORLDS
from quartet_teams import PLANNER, parse_plan
from quartet_teams.errors import AnswerError

_FAILED_LIFT = re.compile(r"(box\d+) was not lifted by .* \(([\d.]+)W\)")
_STEP = re.compile(r"^Step (\d+)\. ", re.MULTILINE)
_PROPOSAL = re.compile(r"^(.+?): I would (.+)\.$", re.MULTILINE)
WEIGHT_MARGIN = 1.1
"""A box may weigh a tenth more than its volume tells."""
MORE_AFTER_FAILURE = 1.25
VARIANTS = 7
"""Variants of a good plan that take turns, so that a deadlock does not last."""


@dataclass(frozen=True)
class Faults:
    """Rates of the faults, 0 to 1."""

    wrong_action: float = 0.0
    """Of each action: another one that the robot can do."""
    objection: float = 0.0
    """Of each judgement: an objection where there is nothing to object to, or none where there is."""
    repetition: float = 0.0
    """Of each plan: the one before again, although it was refused or is over."""
    malformed: float = 0.0
    """Of each plan: cut off in the middle."""

    @classmethod
    def equal(cls, rate: float) -> Self:
        """Return the faults of one rate: whole plans are wrong half as often as an action or a judgement."""
        return cls(rate, rate, rate / 2, rate / 2)


class Speakers(RuleSpeakers[Faults]):
    """Answers the prompts of all participants. What it knows is what the prompt tells.

    Args:
        faults: rates of the faults.
        seed: of the faults that are drawn.
    """

    def __init__(self, faults: Faults, seed: int) -> None:
        super().__init__(faults, seed)
        self._last: Mapping[str, str] = {}

    def _answer(self, participant: str, parts: dict[str, str]) -> str:
        world = self._world(parts["Task"]).parse(parts["Current state"])
        best = self._best(world, parts["Steps so far"])
        if participant == PLANNER:
            return self._plan(world, best)
        if "I Agree" in parts["Your answer"]:
            return self._judge(participant, best, parts["Plan of the planner"])
        return self._discuss(participant, world, best, parts)

    def _world(self, rules: str) -> type[World]:
        """Return the world whose rules a prompt tells."""
        return next(world for world in WORLDS.values() if world.rules == rules)

    def _best(self, world: World, history: str) -> dict[str, str]:
        if isinstance(world, ArmTable):
            return arm_table.good_step(world, variant_of(history))
        if not isinstance(world, BoxLift):
            return good_step(world, variant_of(history))
        weights = {name: box.volume * WEIGHT_MARGIN for name, box in world.boxes.items()}
        for name, tried in _FAILED_LIFT.findall(history):
            if name in weights:
                weights[name] = max(weights[name], float(tried) * MORE_AFTER_FAILURE)
        strength = sum(world.lifters.values())
        weights = {name: min(weight, strength) for name, weight in weights.items()}
        return _helped(world, lift_step(world, weights, np.random.default_rng(variant_of(history))), weights)

    def _with_faults(self, world: World, plan: Mapping[str, str]) -> dict[str, str]:
        return {
            robot: str(self._rng.choice(world.actions(robot))) if self._chance(self._rates.wrong_action) else action
            for robot, action in plan.items()
        }

    def _plan(self, world: World, best: Mapping[str, str]) -> str:
        plan = self._with_faults(world, best)
        if self._last and self._chance(self._rates.repetition):
            plan = dict(self._last)
        self._last = plan
        text = json.dumps(plan)
        return text[: len(text) // 2] if self._chance(self._rates.malformed) else text

    def _judge(self, robot: str, best: Mapping[str, str], plan: str) -> str:
        mine = json.loads(plan).get(robot, WAIT)
        better = best.get(robot, WAIT)
        objects = (mine != better) != self._chance(self._rates.objection)
        return f"I should {better} instead of {mine}." if objects else "I Agree"

    def _discuss(self, robot: str, world: World, best: Mapping[str, str], parts: Mapping[str, str]) -> str:
        """Say one's own action; who hears all others' ends the discussion with them."""
        said = dict(_PROPOSAL.findall(parts.get("Said before", "")))
        if (given := parts.get("Plan of the planner")) and not said:
            try:
                said = parse_plan(given)
            except AnswerError:
                said = {}
        own = self._with_faults(world, {robot: best.get(robot, WAIT)})[robot]
        said[robot] = own
        if set(said) >= (set(json.loads(given)) if given else set(world.robots)):
            if all(action == WAIT for action in said.values()):
                # Nobody would act, which no check lets pass: who ends the discussion says what all should do.
                said = self._with_faults(world, best)
            return f"EXECUTE {self._plan_of(said)}"
        return f"I would {own}.\nPROCEED"

    def _plan_of(self, said: Mapping[str, str]) -> str:
        text = json.dumps({name: action for name, action in said.items() if action != WAIT})
        return text[: len(text) // 2] if self._chance(self._rates.malformed) else text


def variant_of(history: str) -> int:
    """Return which variant of a good plan is due by the newest step that a prompt tells.

    All participants of a step take the same, also where some are told more of the past than others.
    """
    told = _STEP.findall(history)
    return int(told[-1]) % VARIANTS if told else 0


def _helped(world: BoxLift, plan: Mapping[str, str], weights: Mapping[str, float]) -> dict[str, str]:
    """Return the plan in which the lifters that are left help at the boxes with the least strength to spare."""
    helped = dict(plan)
    strength: dict[str, float] = {}
    for lifter, action in plan.items():
        box = action.removeprefix("lift ")
        strength[box] = strength.get(box, 0.0) + world.lifters[lifter]
    for lifter in sorted(world.lifters.keys() - plan.keys(), key=lambda name: (-world.lifters[name], name)):
        box = min(strength, key=lambda name: strength[name] / weights[name])
        strength[box] += world.lifters[lifter]
        helped[lifter] = f"lift {box}"
    return helped
