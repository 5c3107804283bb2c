"""Questions about inquiry: what a robot says about an object, from who reaches it and who is busy."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from quartet_research.roco.text.question import (
    LETTERS,
    Form,
    Question,
    balanced,
    lettered,
    make_question,
    placed_at,
    say,
)
from quartet_research.roco.text.states import draw_sorting, useful_move
from quartet_simulation.table_tasks import TableTask
from quartet_simulation.table_tasks.sort_cubes import GOALS, PANELS
from quartet_teams.roco import Action

KINDS = ("announce", "ask_who", "ask_help", "wait")
RULES = {
    (True, False, False): "announce",
    (True, False, True): "announce",
    (True, True, False): "ask_help",
    (True, True, True): "wait",
    (False, False, False): "ask_who",
    (False, False, True): "wait",
    (False, True, True): "wait",
}
"""Best reply, by whether the robot reaches the object, is busy, and all others are busy.

A busy robot that does not reach the object, while another is free, could ask or wait; no question is about that.
"""


@dataclass(frozen=True)
class Situation:
    """A robot thinks about an object while robots have announced actions. Every task can have such situations."""

    task: TableTask
    robot: str
    object: str
    goal: str
    reached: bool
    announced: Mapping[str, Action]
    helpers: Mapping[str, Action]
    """Useful actions with the object, of all robots that are free."""

    @property
    def best(self) -> str:
        """The best reply; "" if it is not clear or no robot could follow it."""
        others = all(other in self.announced for other in self.task.robots if other != self.robot)
        best = RULES.get((self.reached, self.robot in self.announced, others), "")
        needed = {"announce": self.robot in self.helpers, "wait": not self.helpers}
        return best if needed.get(best, bool(self.helpers)) else ""


def draw(number: int, rng: np.random.Generator) -> Question | None:
    """Return a question with the wanted reply at the wanted letter."""
    kind, at = KINDS[balanced(number, 4)], balanced(number, 4, what=1)
    found = sorting(rng)
    if found is None or found.best != kind:
        return None
    talk = [
        f"{robot}: I will {found.announced[robot]}."
        if robot in found.announced
        else f"{robot}: I have announced nothing in this round."
        for robot in found.task.robots
    ]
    kinds = placed_at([kind, *(one for one in KINDS if one != kind)], at, rng)
    wordings = say("inquiry", "question", block=found.object, goal=found.goal)
    options = [say("inquiry", one, block=found.object) for one in kinds]
    parts = {"You observe": found.task.describe(), "Talk now": "\n".join(talk)}
    return make_question(
        found.task, found.robot, Form.LETTER, LETTERS, LETTERS[at], lettered(wordings, options), parts,
        kind=kind, situation=found,
    )  # fmt: skip


def sorting(rng: np.random.Generator) -> Situation | None:
    """Return a situation of the sorting task; None if the block is already on its panel."""
    task = draw_sorting(rng)
    robot, block = str(rng.choice(task.robots)), str(rng.choice(list(GOALS)))
    if task.panel_of(block) == GOALS[block]:
        return None
    announced: dict[str, Action] = {}
    for one in map(str, rng.permutation(task.robots)):
        moves = [useful_move(task, one, other) for other in GOALS if other != block]
        given = {(action.object, action.target) for action in announced.values()}
        free = [
            move for move in moves if move and not any(move.object in pair or move.target in pair for pair in given)
        ]
        if free and rng.random() < 0.7:
            announced[one] = free[int(rng.integers(len(free)))]
    helpers = {one: move for one in task.robots if one not in announced and (move := useful_move(task, one, block))}
    reached = task.panel_of(block) in PANELS[robot]
    return Situation(task, robot, block, GOALS[block], reached, announced, helpers)
