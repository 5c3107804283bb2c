"""Table 3 of RoCo: persons by rules, and trials of the block task."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import ClassVar

from quartet_research.harness.speakers import parts_of
from quartet_research.harness.study import Case
from quartet_research.roco.part import Part, Trial
from quartet_research.roco.person.robot import RobotSpeaker
from quartet_research.roco.person.typed import Typed
from quartet_research.roco.table_part import play
from quartet_simulation.table_tasks.blocks import CUPS, PERSON, ROBOT, TABLE, MoveBlocks, where
from quartet_teams import Answer, Model
from quartet_teams.roco import JointPlan, Roco

STEPS, CALLS = 10, 5
ERRORS = 0.2
"""Chance that the camera describes a block wrongly in a round."""
Places = Mapping[str, str]
"""Where each block is, as the person sees it."""
_terminal = asyncio.Lock()
"""Held by the trial in which a person types: with language models, several trials are played at once."""


class Imperfect:
    """A person who corrects nothing and confirms each plan."""

    def say(self, places: Places, parts: Mapping[str, str]) -> str:
        """Return what the person says to a prompt with these parts, by their headings."""
        return "I leave it to you."

    def refuses(self, places: Places, plan: JointPlan) -> str:
        """Return why the person refuses a plan that passed the checks; "" if she confirms it."""
        return ""


class Correcting:
    """A person who says where all blocks are unless the robot has said it, and refuses a plan that does not fit."""

    def say(self, places: Places, parts: Mapping[str, str]) -> str:
        """Return the sentences about all blocks if one of them was not said."""
        seen = [where(*item) for item in places.items()]
        return "I agree." if all(one in parts.get("Talk now", "") for one in seen) else "\n".join(seen)

    def refuses(self, places: Places, plan: JointPlan) -> str:
        """Return where the block of the plan is, if the one that acts cannot take it there."""
        fits = {ROBOT: [TABLE], PERSON: CUPS}
        wrong = (one.object for one in plan.values() if one.object and places[one.object] not in fits[one.robot])
        return " ".join(where(name, places[name]) for name in wrong)


PERSONS = {"correcting": Correcting, "imperfect": Imperfect, "typed": Typed}


class PersonPart(Part):
    """The block task, with a random start and with a fixed order of the blocks."""

    name = "person"
    tasks = ("blocks_start", "blocks_order")
    most_trials = 10
    varies = ("person",)
    published: ClassVar[Mapping[tuple[str, str], str]] = {
        ("blocks_start", "correcting"): "0.90; 5.3",
        ("blocks_order", "correcting"): "0.80; 5.5",
        ("blocks_start", "imperfect"): "0.70; 5.6",
        ("blocks_order", "imperfect"): "0.60; 5.2",
    }
    notes: ClassVar[Sequence[str]] = (
        f"Person: success within {STEPS} steps; calls include the person's turns. Correcting and imperfect are rules. "
        f"In each round, the camera describes each block wrongly with a chance of {ERRORS}. In the paper: GPT-4, a "
        "real robot and people; success; steps, of 10 trials; the rate of wrong descriptions is not stated.",
    )

    def speakers(self, rate: float, case: Case) -> Model:
        """Return a robot that knows only its own prompt."""
        return RobotSpeaker(rate, case.instance["seed"])

    async def play(self, case: Case, model: Model) -> Trial:
        """Let person and robot do the task of a case."""
        person, ordered = PERSONS[case.setting["person"]](), case.setting["task"] == "blocks_order"

        def refuse(plan: JointPlan) -> str:
            return person.refuses(task.places, plan)

        task = MoveBlocks(case.instance["seed"], ordered=ordered, errors=ERRORS, refuse=refuse)

        async def answer(participant: str, prompt: str) -> Answer:
            if participant == PERSON:
                return Answer(f"{person.say(task.places, parts_of(prompt))}\nPROCEED")
            return await model(participant, prompt)

        async with _terminal if isinstance(person, Typed) else contextlib.nullcontext():
            return await play(task, Roco(most_calls=CALLS), answer, most_steps=STEPS)
