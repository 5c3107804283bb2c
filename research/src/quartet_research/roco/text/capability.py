"""Questions about capability: which panels, blocks or foods a robot reaches."""

import numpy as np

from quartet_research.roco.text.question import Form, Question, balanced, make_question, names_text, say
from quartet_research.roco.text.states import draw_sorting
from quartet_simulation.table_tasks import MakeSandwich, SortCubes, TableTask
from quartet_simulation.table_tasks.sort_cubes import GOALS, PANEL_X, PANELS

KINDS = ("near_blocks", "far_blocks", "far_panels", "near_foods", "far_foods")


def draw(number: int, rng: np.random.Generator) -> Question | None:
    """Return a question whose key is read from the positions; those about panels name four of the seven."""
    kind = KINDS[balanced(number, len(KINDS))]
    task: TableTask = MakeSandwich(int(rng.integers(2**31))) if kind.endswith("foods") else draw_sorting(rng)
    robot = str(rng.choice(task.robots))
    if isinstance(task, MakeSandwich):
        near = {food: (task.scene.position(food)[0] < 0) == (robot == "Dave") for food in task.recipe}
        observed = task.describe_robot(robot)
    elif isinstance(task, SortCubes) and kind == "far_panels":
        panels = sorted(map(str, rng.choice(list(PANEL_X), 4, replace=False)))
        near, observed = {panel: panel in PANELS[robot] for panel in panels}, task.describe()
    else:
        near, observed = {block: task.panel_of(block) in PANELS[robot] for block in GOALS}, task.describe()
    right = [name for name, reached in near.items() if reached == kind.startswith("near")]
    parts, choices = {"You observe": observed}, sorted(near)
    return make_question(
        task, robot, Form.NAMES, choices, [names_text(right)], say("capability", kind), parts, kind=kind
    )
