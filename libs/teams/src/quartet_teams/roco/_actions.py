"""The actions of a joint plan, and the form in which each is written."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

Verb = Literal["PICK PLACE", "PICK", "PLACE", "PUT", "OPEN", "SWEEP", "DUMP", "MOVE", "WAIT"]
VERBS: tuple[Verb, ...] = get_args(Verb)
"""Verbs in the order in which the parser tests them."""
Point = tuple[float, float, float]
"""Position x, y, z [m]; in a grid, a cell."""


@dataclass(frozen=True)
class Form:
    """The arguments of a verb in a scene."""

    objects: tuple[str, ...] = ()
    """Valid objects; () if the verb has none, as WAIT."""
    targets: tuple[str, ...] = ()
    """Valid targets; () if the verb has none. A verb with targets has objects."""
    path: bool = False
    """Whether a PATH is required; otherwise it is refused."""
    meaning: str = ""
    """What the action does, for the prompt."""

    def written(self, verb: Verb) -> str:
        """Return how an action of this form is written."""
        if verb == "PICK PLACE":
            words = "PICK <object> PLACE <target>"
        else:
            words = f"{verb}{' <object>' if self.objects else ''}{' <target>' if self.targets else ''}"
        return f"{words} PATH [(x, y, z), ...]" if self.path else words


@dataclass(frozen=True)
class Action:
    """What one robot does in a plan."""

    robot: str
    verb: Verb
    object: str = ""
    target: str = ""
    path: tuple[Point, ...] = ()

    def __str__(self) -> str:
        """Return the action in the form that plans have."""
        if self.verb == "PICK PLACE":
            words = ["PICK", self.object, "PLACE", self.target]
        else:
            words = [self.verb, self.object, self.target]
        if self.path:
            points = ("(" + ", ".join(repr(value).removesuffix(".0") for value in point) + ")" for point in self.path)
            words.append(f"PATH [{', '.join(points)}]")
        return " ".join(word for word in words if word)


JointPlan = Mapping[str, Action]
"""One action of each robot, in speaking order."""


def plan_text(plan: JointPlan) -> str:
    """Return a plan as its lines, one for each robot."""
    return "\n".join(f"NAME {robot} ACTION {action}" for robot, action in plan.items())


def sub_plans(plan: JointPlan) -> list[JointPlan]:
    """Return the plans to execute in turn: PICK PLACE becomes a PICK, then a PLACE.

    A robot that waits or moves in such a plan does the same in both.
    """
    if all(action.verb != "PICK PLACE" for action in plan.values()):
        return [plan]
    picks: dict[str, Action] = {}
    places: dict[str, Action] = {}
    for robot, action in plan.items():
        composed = action.verb == "PICK PLACE"
        picks[robot] = replace(action, verb="PICK", target="") if composed else action
        places[robot] = replace(action, verb="PLACE") if composed else action
    return [picks, places]
