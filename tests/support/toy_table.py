"""A table as a RoCo team sees it, without physics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from quartet_teams import Answer, Complaint, Discussion
from quartet_teams.roco import Form, JointPlan, Verb

CUBES = ("red_cube", "blue_cube")
PANELS = ("panel1", "panel2", "left shelf")
FORMS: dict[Verb, Form] = {
    "PICK PLACE": Form(CUBES, PANELS, meaning="carry a cube"),
    "PICK": Form(CUBES),
    "PLACE": Form(CUBES, PANELS),
    "OPEN": Form(("left_door",)),
    "MOVE": Form(CUBES),
    "WAIT": Form(),
}
PATH_FORMS: dict[Verb, Form] = {"PICK": Form(CUBES, path=True), "PLACE": Form(CUBES, PANELS, path=True), "WAIT": Form()}


@dataclass
class ToyTable:
    """Texts that name their part of the prompt, and a check of one's choice."""

    robots: Sequence[str] = ("Alice", "Bob")
    forms: dict[Verb, Form] = field(default_factory=lambda: dict(FORMS))
    equal_paths: bool = True
    holds: dict[str, tuple[str, ...]] = field(default_factory=dict)
    refuse: Callable[[JointPlan], Sequence[Complaint]] = lambda plan: []
    described: list[str] = field(default_factory=list)
    rules: str = "<rules>"
    path_rules: str = "<path rules>"

    def capability(self, robot: str) -> str:
        return f"<capability of {robot}>"

    def describe(self) -> str:
        self.described.append("")
        return "<whole state>"

    def describe_robot(self, robot: str) -> str:
        self.described.append(robot)
        return f"<seen by {robot}>"

    def held(self, robot: str) -> tuple[str, ...]:
        return self.holds.get(robot, ())

    def check(self, plan: JointPlan) -> Sequence[Complaint]:
        return self.refuse(plan)


def execute(**actions: str) -> str:
    """Return a reply that ends with the plan of these actions."""
    return "\n".join(["So be it.", "EXECUTE", *(f"NAME {robot} ACTION {action}" for robot, action in actions.items())])


def discussion(talk: Callable[[str, str, int], str]) -> Discussion:
    """Return a discussion in which `talk` answers: (participant, prompt, number of the call from 1)."""

    async def model(participant: str, prompt: str) -> Answer:
        return Answer(talk(participant, prompt, len(made.turns) + 1))

    made = Discussion(model)
    return made
