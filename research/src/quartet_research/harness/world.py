"""World of an experiment: a state that renders, actions of each robot, a step that may end in a collision."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from quartet_research.harness.errors import IllegalPlanError

WAIT = "wait"
"""Action of a robot that the plan leaves out."""


@dataclass(frozen=True)
class Step:
    """Result of one time step."""

    feedback: str = ""
    """What the robots learn that the state does not show; one line an event."""
    collision: str = ""
    """What collided; the episode has failed. Empty: nothing."""


class World(ABC):
    """One episode in discrete time: all robots act at once in every step.

    A world is a mutable value: `copy` gives an independent one, `state` and `from_state` carry it through JSON, and
    `describe` and `parse` through the text that a language model reads.
    """

    name: ClassVar[str]
    rules: str
    """Task and rules in the words that are put to a language model."""

    def __init__(self, *, step_limit: int, steps: int = 0, collision: str = "") -> None:
        self.step_limit = step_limit
        self.steps = steps
        """Steps that were taken."""
        self.collision = collision

    @property
    @abstractmethod
    def robots(self) -> tuple[str, ...]:
        """Names of the robots, in the order in which they speak."""

    @abstractmethod
    def actions(self, robot: str) -> tuple[str, ...]:
        """Return what the robot can do now, `wait` last."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether the goal is reached."""

    @abstractmethod
    def describe(self) -> str:
        """Return the state as text; `parse` reads it back."""

    @abstractmethod
    def describe_robot(self, robot: str) -> str:
        """Return what the robot itself is and sees, as text."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return the state as an object of JSON; `from_state` reads it back."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the world in a state that `state` has given. Raises StateError."""

    @classmethod
    @abstractmethod
    def parse(cls, text: str) -> Self:
        """Return the world that `describe` rendered. Facts that the text omits are unknown.

        Raises StateError.
        """

    @abstractmethod
    def _apply(self, plan: Mapping[str, str]) -> Step:
        """Change the state by the actions of the robots that do not wait."""

    @property
    def ended(self) -> bool:
        """Whether no further step can be taken: done, collided, or at the limit of steps."""
        return self.done or bool(self.collision) or self.steps >= self.step_limit

    @property
    def limits(self) -> dict[str, Any]:
        """What every world has in its state; `limits_of` reads it back."""
        return {"step_limit": self.step_limit, "steps": self.steps, "collision": self.collision}

    def check(self, plan: Mapping[str, str]) -> list[tuple[Literal["constraints"], str]]:
        """Return what is wrong with a team's plan: its violations, or that no robot acts; each with the stage.

        A step in which all wait is legal, but nothing changes by itself, so that no plan needs one.
        """
        found = self.violations(plan)
        if not found and not self.done and all(action == WAIT for action in plan.values()):
            found.append("No robot acts in it, and the task is not done.")
        return [("constraints", reason) for reason in found]

    def violations(self, plan: Mapping[str, str]) -> list[str]:
        """Return why a step cannot be taken: robots that there are not, actions that are not available."""
        found: list[str] = []
        robots = self.robots
        for robot, action in plan.items():
            if robot not in robots:
                found.append(f"There is no {robot}; the robots are {', '.join(robots)}.")
            elif action not in (available := self.actions(robot)):
                found.append(f"{robot} cannot {action}; available are: {', '.join(available)}.")
        return found

    def step(self, plan: Mapping[str, str]) -> Step:
        """Take one step in which each robot does its action of the plan, or waits.

        Raises IllegalPlanError when the plan has violations, or the episode has ended. The state is unchanged then.
        """
        if self.ended:
            raise IllegalPlanError(f"the episode has ended after {self.steps} steps; make another world")
        if found := self.violations(plan):
            raise IllegalPlanError(" ".join(found))
        result = self._apply({robot: plan[robot] for robot in self.robots if plan.get(robot, WAIT) != WAIT})
        self.steps += 1
        self.collision = result.collision
        return result

    def copy(self) -> Self:
        """Return an independent world in the same state."""
        return self.from_state(self.state())


def limits_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `World` that every state has."""
    return {"step_limit": int(state["step_limit"]), "steps": int(state["steps"]), "collision": str(state["collision"])}
