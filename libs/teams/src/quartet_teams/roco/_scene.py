"""What a RoCo team sees of a world."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from quartet_teams._checks import Complaint
from quartet_teams.roco._actions import Form, JointPlan, Verb


class Scene(Protocol):
    """A task at one moment. All texts are put into prompts as they are.

    `check` covers the stages after "parse", which the team checks itself: "constraints", "reach", "ik", "collision",
    "waypoints", "spacing", in this order, up to the first that fails (see `check_in_order`).
    """

    @property
    def rules(self) -> str:
        """Task, goal and rules in words."""
        ...

    @property
    def path_rules(self) -> str:
        """How a PATH is written and what makes a good one; "" if no action has a path."""
        ...

    @property
    def robots(self) -> Sequence[str]:
        """Names of the robots, in speaking order."""
        ...

    @property
    def forms(self) -> Mapping[Verb, Form]:
        """The verbs of the task and their arguments."""
        ...

    @property
    def equal_paths(self) -> bool:
        """Whether all paths of a plan must have the same number of points."""
        ...

    def capability(self, robot: str) -> str:
        """Return what a robot is, reaches and can do."""
        ...

    def describe(self) -> str:
        """Return the whole state."""
        ...

    def describe_robot(self, robot: str) -> str:
        """Return what a robot itself observes."""
        ...

    def held(self, robot: str) -> Collection[str]:
        """Return the objects in a robot's gripper: what PLACE, PUT and OPEN require, and what prevents a PICK."""
        ...

    def check(self, plan: JointPlan) -> Sequence[Complaint]:
        """Return the complaints about a plan of one valid action for each robot, [] for a valid one."""
        ...
