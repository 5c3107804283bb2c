"""Persons at the table by rules: one who corrects the robot, and one who does not."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from quartet_research.harness.speakers import parts_of
from quartet_simulation.table_tasks.blocks import BIN, CUPS, PERSON, ROBOT, TABLE, MoveBlocks, where
from quartet_teams import Answer, Complaint, Model
from quartet_teams.roco import Action, JointPlan


@dataclass(frozen=True)
class View:
    """What a person at the table knows."""

    places: Mapping[str, str]
    """Where each block is."""
    order: Sequence[str]
    """Order of the blocks in the bin; empty if it is free."""

    @property
    def sentences(self) -> list[str]:
        """Where the blocks are, in words."""
        return [where(name, place) for name, place in self.places.items()]


class Person(Protocol):
    """A person who talks with the robot and confirms each plan before it is executed."""

    def say(self, view: View, parts: Mapping[str, str]) -> str:
        """Return what the person says to a prompt with these parts, by their headings."""
        ...

    def refuses(self, view: View, plan: JointPlan) -> str:
        """Return why the person refuses a plan that passed the checks; "" if the person confirms it."""
        ...


class Correcting:
    """Says where all blocks are unless the robot has said it, and refuses a plan that does not fit."""

    def say(self, view: View, parts: Mapping[str, str]) -> str:
        """Return the sentences about all blocks if one of them was not said."""
        said = parts.get("Talk now", "")
        return "I agree." if all(one in said for one in view.sentences) else "\n".join(view.sentences)

    def refuses(self, view: View, plan: JointPlan) -> str:
        """Return what contradicts the plan."""
        return next((text for action in plan.values() if (text := _contradiction(view, action))), "")


def _contradiction(view: View, action: Action) -> str:
    if action.verb == "WAIT":
        return ""
    place = view.places[action.object]
    if (place == TABLE) if action.robot == ROBOT else (place in CUPS):
        following = next((name for name in view.order if view.places[name] != BIN), action.object)
        return f"{following} is the next in the order." if action.robot == ROBOT and following != action.object else ""
    return where(action.object, place)


class Imperfect:
    """Corrects nothing and confirms each plan."""

    def say(self, view: View, parts: Mapping[str, str]) -> str:
        """Leave it to the robot."""
        return "I leave it to you."

    def refuses(self, view: View, plan: JointPlan) -> str:
        """Confirm the plan."""
        return ""


class BlocksWithPerson(MoveBlocks):
    """The block task with a person, who confirms each plan that passes the checks.

    Args:
        person: who confirms.
        seed, ordered, error_rate: as of MoveBlocks.
    """

    def __init__(self, person: Person, seed: int, *, ordered: bool, error_rate: float) -> None:
        super().__init__(seed, ordered=ordered, error_rate=error_rate)
        self._person = person

    @property
    def view(self) -> View:
        """What the person knows."""
        return View(self.places, self.order)

    def check(self, plan: JointPlan) -> Sequence[Complaint]:
        """Return the complaints about a plan, or the person's refusal."""
        if complaints := super().check(plan):
            return complaints
        reason = self._person.refuses(self.view, plan)
        return [("constraints", f"{PERSON} refused to execute it: {reason}")] if reason else []

    def participants(self, model: Model) -> Model:
        """Return a model in which the person answers for herself, and `model` for the robot. Her words cost nothing."""

        async def answer(participant: str, prompt: str) -> Answer:
            if participant != PERSON:
                return await model(participant, prompt)
            return Answer(f"{self._person.say(self.view, parts_of(prompt))}\nPROCEED")

        return answer


RULES: dict[str, Callable[[], Person]] = {"correcting": Correcting, "imperfect": Imperfect}
"""Persons by rules."""
