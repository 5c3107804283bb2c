"""Questions about memory: what has happened in the rounds of an episode."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from quartet_research.roco.text.question import Form, Question, make_question, names_text, say
from quartet_research.roco.text.states import PER_EPISODE, Moment, episode, stacked
from quartet_simulation.table_tasks import MakeSandwich
from quartet_simulation.table_tasks.sandwich import SIZES
from quartet_simulation.table_tasks.sort_cubes import GOALS, PANEL_X


def draw(number: int, rng: np.random.Generator) -> Question | None:
    """Return a question whose key is read from what hands held and where things lay, not from the talk."""
    moments = episode(number // PER_EPISODE)
    seen = moments[: int(rng.integers(1, len(moments))) + 1]
    task = seen[-1].task
    robot, kind, subject = str(rng.choice(task.robots)), "moved", ""
    if isinstance(task, MakeSandwich):
        kind, subject = str(rng.choice(["taken", "put", "left"])), str(rng.choice(task.robots))
        choices = sorted(SIZES)
    elif rng.random() < 0.5:
        kind, subject, choices = "been_on", str(rng.choice(list(GOALS))), list(PANEL_X)
    else:
        choices = sorted(GOALS)
    right = names_text(_happened(kind, subject, seen))
    parts, wordings = {"Rounds so far": seen[-1].history}, say("memory", kind, subject=subject)
    return make_question(
        task, robot, Form.NAMES, choices, [right], wordings, parts, kind=kind, subject=subject, history=parts
    )


def _happened(kind: str, subject: str, seen: Sequence[Moment]) -> set[str]:
    task = seen[-1].task
    if isinstance(task, MakeSandwich) and kind == "left":
        return set(task.recipe) - set(stacked(task))
    if kind in ("taken", "put"):
        changes = ((one.held.get(subject, ""), other.held.get(subject, "")) for one, other in pairwise(seen))
        return {pair[kind == "taken"] for pair in changes if pair[0] != pair[1]} - {""}
    moves = [(block, other.places[block]) for one, other in pairwise(seen) for block in GOALS
             if one.places[block] != other.places[block]]  # fmt: skip
    return {block for block, _ in moves} if kind == "moved" else {panel for block, panel in moves if block == subject}
