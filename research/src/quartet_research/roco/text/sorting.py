"""Questions about sorting cubes: capability, inquiry and respond."""

import functools
import math

import numpy as np

from quartet_research.roco.speakers.sorting import next_panel
from quartet_research.roco.text.question import Question, balanced, make_question, say, with_options
from quartet_simulation.table_tasks import SortCubes
from quartet_simulation.table_tasks.sort_cubes import GOALS, PANEL_X, PANEL_Y, PANELS
from quartet_teams.roco import Action

STATES = 120
"""Number of states from which questions are drawn."""
RELEASE_Z = 0.25
"""Height at which a block is put over its panel [m]."""
TAKES = {block: [panel for panel in PANEL_X if panel not in GOALS.values() or panel == GOALS[block]] for block in GOALS}
"""Panels that each block may be put on."""
REPLIES = ("announce", "ask_who", "ask_help", "wait")


@functools.cache
def state(number: int) -> SortCubes:
    """Return a task with its blocks on different panels, not all on their own."""
    rng, task, drawn = np.random.default_rng(number), SortCubes(number), dict[str, str]()
    while len(set(drawn.values())) < len(GOALS) or drawn == GOALS:
        drawn = {block: str(rng.choice(TAKES[block])) for block in GOALS}
    for block, panel in drawn.items():
        task.scene.place(block, (PANEL_X[panel], PANEL_Y, RELEASE_Z), float(rng.uniform(-math.pi, math.pi)))
    task.scene.settle()
    return task


def _draw(rng: np.random.Generator) -> tuple[SortCubes, dict[str, str], str, str]:
    """Return a state, the panel of each block, a robot and a block."""
    task = state(int(rng.integers(STATES)))
    at = {block: task.panel_of(block) for block in GOALS}
    return task, at, str(rng.choice(task.robots)), str(rng.choice(list(GOALS)))


def capability(number: int, rng: np.random.Generator) -> Question:
    """Return a question about which blocks, or which of four panels, a robot reaches."""
    kind = ("near_blocks", "far_blocks", "far_panels")[balanced(number, 3)]
    task, where, robot, _ = _draw(rng)
    if kind == "far_panels":
        where = {str(panel): str(panel) for panel in rng.choice(list(PANEL_X), 4, replace=False)}
    right = [name for name, panel in where.items() if (panel in PANELS[robot]) == (kind == "near_blocks")]
    parts = {"You observe": task.describe()}
    return make_question(task, robot, say(kind), sorted(where), right, parts, kind=kind)


def respond(number: int, rng: np.random.Generator) -> Question | None:
    """Return a request to a robot. One that it can fulfil brings a block nearer to its panel, onto an empty panel."""
    task, at, robot, block = _draw(rng)
    other = str(rng.choice([name for name in task.robots if name != robot]))
    kind = str(rng.choice(["to_panel", "to_me"]))
    aims = PANELS[other] if kind == "to_me" else (str(rng.choice(list(PANEL_X)[1:-1])),)
    can = [panel for panel in aims if {at[block], panel} <= {*PANELS[robot]} and panel in TAKES[block]]
    distances = {panel: abs(x - PANEL_X[GOALS[block]]) for panel, x in PANEL_X.items()}
    useful = all(distances[panel] < distances[at[block]] for panel in can) and distances[at[block]] > 0
    empty = not {*(can or aims[:1])} & {*at.values()}
    if bool(can) != bool(balanced(number, 2)) or not useful or not empty or at[block] in aims:
        return None
    choices = ["NO", *(f"YES PICK {block} PLACE {panel}" for panel in PANEL_X)]
    right = choices[1 + list(PANEL_X).index(can[0])] if can else "NO"
    wordings = say(kind, other=other, block=block, panels=", ".join(aims))
    parts = {"You observe": task.describe()}
    return make_question(task, robot, wordings, choices, right, parts, block=block, aims=aims)


def inquiry(number: int, rng: np.random.Generator) -> Question | None:
    """Return a question about the reply that fits who reaches a block and who has announced an action."""
    task, at, robot, block = _draw(rng)
    announced = _announced(task, [one for one in GOALS if one != block], rng)
    helpers = {one: move for one in task.robots if one not in announced and (move := useful_move(task, one, block))}
    others_busy = {*task.robots} <= {*announced, robot}
    best = best_reply(reached=at[block] in PANELS[robot], busy=robot in announced, others_busy=others_busy)
    fits = robot in helpers if best == "announce" else bool(helpers) != (best == "wait")
    if best != REPLIES[balanced(number, 4)] or not fits or at[block] == GOALS[block]:
        return None
    lines = (f"I will {announced[one]}." if one in announced else "I have announced nothing." for one in task.robots)
    talk = "\n".join(f"{one}: {line}" for one, line in zip(task.robots, lines, strict=True))
    replies = {one: say(one, block=block) for one in REPLIES}
    wordings, letter = say("think", block=block, goal=GOALS[block]), balanced(number, 4, what=1)
    wordings = with_options(wordings, replies.pop(best), list(replies.values()), letter, rng)
    parts, about = {"You observe": task.describe(), "Talk now": talk}, {"best": best, "announced": announced}
    return make_question(task, robot, wordings, "ABCD", "ABCD"[letter], parts, block=block, **about)


def best_reply(*, reached: bool, busy: bool, others_busy: bool) -> str:
    """Return what a robot says about an object in any task; "" where asking and waiting are both good."""
    if reached and not busy:
        return "announce"
    if others_busy:
        return "wait"
    return "ask_help" if reached else "" if busy else "ask_who"


def _announced(task: SortCubes, blocks: list[str], rng: np.random.Generator) -> dict[str, Action]:
    """Return actions of some robots with different blocks and targets."""
    found: dict[str, Action] = {}
    for robot in map(str, rng.permutation(task.robots)):
        taken = {name for action in found.values() for name in (action.object, action.target)}
        moves = [move for block in blocks if (move := useful_move(task, robot, block))]
        if (free := [move for move in moves if not {move.object, move.target} & taken]) and rng.random() < 0.7:
            found[robot] = free[int(rng.integers(len(free)))]
    return found


def useful_move(task: SortCubes, robot: str, block: str) -> Action | None:
    """Return a robot's move of a block towards its panel, onto an empty one; None if there is none."""
    panel = next_panel(task.panel_of(block), GOALS[block], PANELS[robot])
    taken = not panel or panel in map(task.panel_of, GOALS)
    return None if taken else Action(robot, "PICK PLACE", block, panel)
