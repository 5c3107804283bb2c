"""Questions about responding: whether a robot can fulfil a request, and by which action."""

import numpy as np

from quartet_research.roco.text.question import Form, Question, balanced, make_question, say
from quartet_research.roco.text.states import TAKES, draw_sorting
from quartet_simulation.table_tasks.sort_cubes import GOALS, PANEL_X, PANELS


def draw(number: int, rng: np.random.Generator) -> Question | None:
    """Return a question with the wanted answer, NO or YES.

    A request that can be fulfilled brings a block nearer to its panel, and onto an empty one.
    """
    task, wanted = draw_sorting(rng), bool(balanced(number, 2))
    robot, other = (str(name) for name in rng.choice(task.robots, 2, replace=False))
    block, at = str(rng.choice(list(GOALS))), {name: task.panel_of(name) for name in GOALS}
    if rng.random() < 0.5:
        target = str(rng.choice(list(PANEL_X)[1:-1]))
        kind, aims, values = "to_panel", (target,), {"target": target}
    else:
        kind, aims, values = "to_me", PANELS[other], {"panels": ", ".join(PANELS[other])}
        if at[block] in aims:
            return None
    can = [panel for panel in aims if {at[block], panel} <= {*PANELS[robot]} and panel in TAKES[block]]
    helps = all(_to_go(block, panel) < _to_go(block, at[block]) for panel in can) and at[block] != GOALS[block]
    if bool(can) != wanted or not helps or {*(can or aims[:1])} & {*at.values()}:
        return None
    right = [f"YES PICK {block} PLACE {panel}" for panel in can] or ["NO"]
    choices = [f"PICK {block} PLACE {panel}" for panel in PANEL_X]
    wordings = say("respond", kind, other=other, block=block, **values)
    parts = {"You observe": task.describe()}
    return make_question(task, robot, Form.ACTION, choices, right, wordings, parts, block=block, aims=aims)


def _to_go(block: str, panel: str) -> float:
    """Return the distance from a panel to that of a block [m]."""
    return abs(PANEL_X[panel] - PANEL_X[GOALS[block]])
