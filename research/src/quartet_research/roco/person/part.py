"""Table 3 of RoCo: the block task with a person."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import ClassVar

from quartet_research.harness.study import Case
from quartet_research.roco.part import Part, Trial
from quartet_research.roco.person.people import RULES, BlocksWithPerson
from quartet_research.roco.person.robot import RobotSpeaker
from quartet_research.roco.person.typed import Typed
from quartet_research.roco.table_part import play_task
from quartet_teams import Model
from quartet_teams.roco import Roco

STEPS, CALLS = 10, 5
ERROR_RATE = 0.2
"""Chance that the camera describes a block wrongly in a round."""
TYPED = "typed"
_terminal = asyncio.Lock()
"""Held by the trial in which a person types: language models play several at once."""


class PersonPart(Part):
    """The block task, with a random start and with a fixed order of the blocks."""

    name = "person"
    tasks = ("blocks_start", "blocks_order")
    varies = ("person",)
    published: ClassVar[Mapping[tuple[str, str], str]] = {
        ("blocks_start", "correcting"): "0.90; 5.3",
        ("blocks_order", "correcting"): "0.80; 5.5",
        ("blocks_start", "imperfect"): "0.70; 5.6",
        ("blocks_order", "imperfect"): "0.60; 5.2",
    }
    notes: ClassVar[Sequence[str]] = (
        f"Persons: success by ground truth, within {STEPS} steps. Calls include the person's turns. In each round the "
        f"camera describes each block wrongly with a chance of {ERROR_RATE}: wrong name, missing or misplaced. In the "
        "paper: GPT-4, a real robot and real people, success; steps, of 10 trials; its rate of wrong descriptions is "
        "not stated. Persons correcting and imperfect are rules.",
    )

    def trials(self, task: str) -> int:
        """Return the trials of a task in the paper."""
        return 10

    def speakers(self, rate: float, case: Case) -> Model:
        """Return a robot that knows only its own prompt."""
        return RobotSpeaker(rate, case.instance["seed"])

    async def play(self, case: Case, model: Model) -> Trial:
        """Let person and robot do the task of a case."""
        if case.setting["person"] != TYPED:
            return await self._play(case, model)
        async with _terminal:
            return await self._play(case, model)

    async def _play(self, case: Case, model: Model) -> Trial:
        kind, seed = case.setting["person"], case.instance["seed"]
        person = Typed() if kind == TYPED else RULES[kind]()
        ordered = case.setting["task"] == "blocks_order"
        task = await asyncio.to_thread(BlocksWithPerson, person, seed, ordered=ordered, error_rate=ERROR_RATE)
        return await play_task(task, Roco(most_calls=CALLS), task.participants(model), most_steps=STEPS)
