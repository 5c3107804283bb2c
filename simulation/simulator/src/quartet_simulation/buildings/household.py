"""Robots that act in a building at the same time, without physics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quartet_simulation.bodies.body import Body
from quartet_simulation.buildings.building import Building, Stand
from quartet_simulation.buildings.plans import WAIT, plan_of
from quartet_simulation.buildings.scene import Call, Scene, Thing
from quartet_simulation.errors import SimulationError, UnknownNameError


@dataclass(frozen=True)
class Ended:
    """An action that has ended: whether it did what it should, why or why not, and how many steps it took."""

    robot: str
    call: Call
    ok: bool
    reason: str
    steps: int


class Household(Scene):
    """A kinematic episode in steps of STEP_S; equal seeds and calls give equal results.

    Robots act at the same time and pass through each other. `begin` starts an action, `advance` lets time pass until an
    action ends. A call that makes no sense ends as failed, after the limit of its function.

    Args:
        building: where it takes place.
        robots: body of each robot.
        things: objects and spots by name.
        starts: pose of each robot at the start.
        step_limit: the episode ends after so many steps.
        seed: of the search for hand poses.

    Raises:
        UnknownNameError: a storey or a robot that is not there.
        SimulationError: a robot that has no start, or cannot stand there.
    """

    def __init__(
        self,
        building: Building,
        robots: Mapping[str, Body],
        things: Mapping[str, Thing],
        starts: Mapping[str, Stand],
        *,
        step_limit: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(building, dict(things))
        self.step_limit, self._seed = step_limit, seed
        if unknown := sorted(set(starts) - set(robots)):
            raise UnknownNameError("robot", unknown[0], robots)
        for name, body in robots.items():
            if name not in starts:
                raise SimulationError(f"the robot '{name}' has no start; valid: a pose for each of {', '.join(robots)}")
            self.add(name, body, starts[name])

    @property
    def over(self) -> bool:
        """Whether the limit of steps is reached."""
        return self.step_limit is not None and self.steps >= self.step_limit

    def begin(self, robot: str, call: Call) -> None:
        """Start an action, which ends a wait.

        Raises UnknownNameError, and SimulationError if the robot acts already.
        """
        one = self.robot(robot)
        if one.action is not None and one.action[0].name != WAIT:
            raise SimulationError(f"the robot '{robot}' acts already ({one.action[0].name}); wait until that ends")
        one.action = (call, plan_of(self, robot, call, self._seed), self.steps)

    def advance(self) -> list[Ended]:
        """Let time pass until at least one action ends, and return those that end then.

        Returns nothing if the limit of steps comes first. Raises SimulationError if no robot acts.
        """
        ends = {name: one.action[2] + one.action[1].steps for name, one in self.robots.items() if one.action}
        if not ends:
            raise SimulationError("no robot acts, so no action can end; begin one first")
        now = min(ends.values())
        if self.step_limit is not None and now > self.step_limit:
            self.steps = self.step_limit
            return []
        self.steps = now
        return [self._end(name) for name, end in ends.items() if end == now]

    def _end(self, name: str) -> Ended:
        """Carry out what the action of a robot does at its end."""
        robot = self.robots[name]
        assert robot.action is not None
        call, plan, _ = robot.action
        ok, reason = plan.ok, plan.reason
        robot.action, robot.stand = None, plan.stand
        if ok and call.name == "pick":
            if self.holder(call.target_obj) is not None or self.places[call.target_obj] != plan.seen:
                ok, reason = False, f"another robot took '{call.target_obj}'"
            else:
                robot.held = call.target_obj
        elif ok and call.name == "place":
            if (other := self.object_at(call.target_location)) is not None:
                ok, reason = False, f"'{other}' is at '{call.target_location}'"
            else:
                self.places[call.target_obj], robot.held = self.places[call.target_location], None
        return Ended(name, call, ok, reason, plan.steps)
