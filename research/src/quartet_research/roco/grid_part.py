"""The 3D grid (RoCo, section 3.3, Figure 13): a team plans paths for three agents, in at most five attempts."""

import time
from collections.abc import Mapping
from typing import ClassVar

from quartet_research.harness.study import Case
from quartet_research.roco.grid3d import PUBLISHED_SIZES, Grid3D
from quartet_research.roco.part import SWITCH, Part, Trial, trial_of
from quartet_teams import Discussion, Model, NoPlanError
from quartet_teams.roco import Past, Roco


class GridPart(Part):
    """The grid in both published sizes."""

    name = "grid"
    tasks = tuple(f"grid{size}" for size in PUBLISHED_SIZES)
    most_trials = 30
    varies = ("framework", "feedback", "temperature")
    published: ClassVar[Mapping[tuple[str, str], str]] = {("grid5", "central"): "0.87; attempts 2.73"}
    notes = (
        "Grids: three agents, and obstacles in 12 % of the cells; their number is ours. Success: the checker accepts "
        "paths in at most five attempts. In the paper one LLM (GPT-4) plans for all agents, in 30 trials; its best "
        "temperature is about 0.6.",
    )

    async def play(self, case: Case, model: Model) -> Trial:
        """Let a team plan the paths of one grid."""
        began, setting = time.monotonic(), case.setting
        grid = Grid3D.generate(int(setting["task"].removeprefix("grid")), case.instance["seed"])
        team = Roco(setting["framework"], feedback=SWITCH[setting["feedback"]])
        discussion, reason = Discussion(model), ""
        try:
            await team.decide(grid, Past(), discussion)
        except NoPlanError as error:
            reason = f"no plan: {error}"[:500]
        return trial_of(discussion, began, reason, agreed=not reason)
