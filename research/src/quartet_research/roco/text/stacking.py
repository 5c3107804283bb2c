"""Questions about making sandwiches: memory and adaptation, at moments of episodes that reference speakers play."""

import asyncio
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from quartet_research.roco.speakers import Speakers
from quartet_research.roco.text.question import Question, balanced, make_question, say, with_options
from quartet_simulation.table_tasks import MakeSandwich
from quartet_simulation.table_tasks.sandwich import BOARD, BOARD_CENTRE, BOARD_SIZE, SIZES
from quartet_teams import Discussion, NoPlanError
from quartet_teams.roco import Action, Past, Roco, plan_text

PER_EPISODE = 15
"""Questions of a category about one episode."""


@dataclass(frozen=True)
class Moment:
    """An episode before one of its rounds."""

    task: MakeSandwich
    history: str
    """Talk and plan of each executed round."""
    held: Mapping[str, str]
    """Food in the hand of each robot, by contact; "" if it holds none."""
    left: list[str]
    """Foods of the recipe that do not lie on the board, judged by their positions."""


@functools.cache
def episode(seed: int) -> list[Moment]:
    """Return the moments of an episode up to its end, or to the first round that fails."""
    return asyncio.run(_play(seed))


async def _play(seed: int) -> list[Moment]:
    task, past, moments, rounds = MakeSandwich(seed), Past(), list[Moment](), list[str]()
    failure = ""
    while not task.done and not failure:
        moments.append(_moment(task, "\n".join(rounds)))
        try:
            decision = await Roco().decide(task, past, Discussion(Speakers(0.0, seed)))
        except NoPlanError:
            break
        failure = task.step(decision.plan).failure
        past.add_executed(decision.plan, decision.chat)
        rounds.append(f"Round {len(moments)}.\n{decision.chat}\nExecuted plan:\n{plan_text(decision.plan)}")
    return moments


def _moment(task: MakeSandwich, history: str) -> Moment:
    """Return a moment with a copy of the task."""
    copy, held = MakeSandwich(task.seed), {robot: next(iter(task.held(robot)), "") for robot in task.robots}
    copy.scene.restore(task.scene.snapshot())
    reach = BOARD_SIZE[0] / 2, BOARD_SIZE[1] / 2
    offsets = {food: np.abs(np.subtract(task.scene.position(food), BOARD_CENTRE))[:2] for food in task.recipe}
    left = [food for food in task.recipe if food in held.values() or (offsets[food] > reach).any()]
    return Moment(copy, history, held, left)


def memory(number: int, rng: np.random.Generator) -> Question:
    """Return a question about past rounds, whose key is read from hands and places, not from the talk."""
    kind, moments = ("taken", "put", "left")[balanced(number, 3)], episode(number // PER_EPISODE)
    seen = moments[: int(rng.integers(1, len(moments))) + 1]
    task, (robot, subject) = seen[-1].task, map(str, rng.choice(seen[-1].task.robots, 2))
    changes = {(one.held[subject], other.held[subject]) for one, other in pairwise(seen)}
    foods = {pair[kind == "taken"] for pair in changes if pair[0] != pair[1]} - {""}
    right, about = seen[-1].left if kind == "left" else foods, {"kind": kind, "subject": subject}
    wordings, history = say(kind, subject=subject), seen[-1].history
    parts = {"Rounds so far": history}
    return make_question(task, robot, wordings, sorted(SIZES), right, parts, history=history, **about)


def adaptation(number: int, rng: np.random.Generator) -> Question | None:
    """Return a question after a mishap: one or none of two actions is possible, and a person can be called."""
    moments, possible = episode(number // PER_EPISODE), balanced(number, 3) > 0
    moment = moments[int(rng.integers(len(moments)))]
    task, actions = moment.task, dict(_actions(moment))
    kind = ("broken", "missing")[balanced(number, 2, what=1)]
    lying = {action.object for action in actions} - {*moment.held.values()}
    subjects = sorted(lying) if kind == "missing" else [robot for robot, food in moment.held.items() if not food]
    subject = str(rng.choice(subjects)) if subjects else ""
    spoilt = [one for one, legal in actions.items() if legal and subject in (one.robot, one.object)]
    wrong = [one for one, legal in actions.items() if not legal]
    good = [one for one, legal in actions.items() if legal and one not in spoilt]
    pools = (spoilt if rng.random() < 0.5 or not wrong else wrong, good) if possible else (wrong, spoilt)
    if not (spoilt and all(pools)):
        return None
    pair = [pool[int(rng.integers(len(pool)))] for pool in pools]
    neither, acts = say("neither"), [say("act", robot=one.robot, action=str(one)) for one in pair]
    best, others = (acts[1], [acts[0], neither]) if possible else (neither, acts)
    letter, asked = balanced(number, 3, what=2), str(rng.choice(task.robots))
    wordings = with_options(say(kind, subject=subject), best, others, letter, rng)
    seen = [line for line in task.describe().splitlines() if not line.startswith(f"{subject} is ")]
    parts = {"Robots": "\n".join(map(task.capability, task.robots)), "Both robots together observe": "\n".join(seen)}
    about = {"kind": kind, "subject": subject, "actions": pair, "best": pair[1] if possible else None}
    return make_question(task, asked, wordings, "ABC", "ABC"[letter], parts, **about)


def _actions(moment: Moment) -> Iterator[tuple[Action, bool]]:
    """Yield each action that would help if it were possible, and whether it is."""
    recipe, left, held = moment.task.recipe, moment.left, moment.held
    for robot, food in held.items():
        if food:
            yield Action(robot, "PUT", food, (BOARD, *recipe)[recipe.index(food)]), food == left[0]
            continue
        for lying in (one for one in left if one not in held.values()):
            yield Action(robot, "PICK", lying), (moment.task.scene.position(lying)[0] < 0) == (robot == "Dave")
