"""Questions about adaptation: what to do when a gripper breaks or an object is lost."""

from collections.abc import Iterator, Sequence

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
from quartet_research.roco.text.states import PER_EPISODE, draw_sorting, episode, stacked, useful_move
from quartet_simulation.table_tasks import MakeSandwich, SortCubes, TableTask
from quartet_simulation.table_tasks.sandwich import BOARD
from quartet_simulation.table_tasks.sort_cubes import GOALS, PANELS
from quartet_teams.roco import Action


def draw(number: int, rng: np.random.Generator) -> Question | None:
    """Return a question with two actions, of which one or none is possible, and with a call for a person."""
    possible, at = balanced(number, 3) > 0, balanced(number, 3, what=1)
    if number % 3 == 2:
        task: TableTask = draw_sorting(rng)
    else:
        # Of the episodes with sandwiches.
        moments = episode(number // PER_EPISODE // 3 * 4 + number // PER_EPISODE % 3)
        task = moments[int(rng.integers(len(moments)))].task
    actions = dict(_actions(task))
    kind = str(rng.choice(["broken", "missing"]))
    held = {name for robot in task.robots for name in task.held(robot)}
    objects = sorted({action.object for action in actions} - held)
    subjects = objects if kind == "missing" else [robot for robot in task.robots if not task.held(robot)]
    if not subjects:
        return None
    subject = str(rng.choice(subjects))
    allowed = [one for one, legal in actions.items() if legal and subject not in (one.robot, one.object)]
    spoilt = [one for one, legal in actions.items() if legal and one not in allowed]
    wrong = [one for one, legal in actions.items() if not legal]
    if not spoilt or not (allowed if possible else wrong):
        return None
    others = wrong if not possible else spoilt if rng.random() < 0.5 else wrong or spoilt
    pair = [_one_of(others, rng), _one_of(allowed if possible else spoilt, rng)]
    acts = [say("adaptation", "act", robot=one.robot, action=str(one)) for one in pair]
    neither = say("adaptation", "neither")
    options = placed_at([acts[1], acts[0], neither] if possible else [neither, *acts], at, rng)
    event = say("adaptation", kind, subject=subject)
    wordings = [f"{what} {text}" for what, text in zip(event, say("adaptation", "question"), strict=True)]
    seen = [line for line in task.describe().splitlines() if not line.startswith(f"{subject} is ")]
    parts = {
        "Robots": "\n".join(task.capability(robot) for robot in task.robots),
        "All robots together observe": "\n".join(seen),
    }
    return make_question(
        task, str(rng.choice(task.robots)), Form.LETTER, LETTERS[:3], LETTERS[at], lettered(wordings, options), parts,
        kind=kind, subject=subject, actions=pair, possible=pair[1] if possible else None,
    )  # fmt: skip


def _one_of(actions: Sequence[Action], rng: np.random.Generator) -> Action:
    return actions[int(rng.integers(len(actions)))]


def _actions(task: TableTask) -> Iterator[tuple[Action, bool]]:
    """Yield actions that would help if they were possible, and whether they are."""
    if isinstance(task, MakeSandwich):
        left = [food for food in task.recipe if food not in stacked(task)]
        held = {robot: next(iter(task.held(robot)), "") for robot in task.robots}
        for robot, food in held.items():
            if food:
                below = (BOARD, *task.recipe)[task.recipe.index(food)]
                yield Action(robot, "PUT", food, below), food == left[0]
            else:
                for lying in (one for one in left if one not in held.values()):
                    own_side = (task.scene.position(lying)[0] < 0) == (robot == "Dave")
                    yield Action(robot, "PICK", lying), own_side
    elif isinstance(task, SortCubes):
        for robot in task.robots:
            for block, goal in GOALS.items():
                if move := useful_move(task, robot, block):
                    yield move, True
                elif task.panel_of(block) != goal and not {task.panel_of(block), goal} <= {*PANELS[robot]}:
                    yield Action(robot, "PICK PLACE", block, goal), False
