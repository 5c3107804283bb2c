"""Episode of an instance: the stage on which teams and the oracle make their calls."""

from collections.abc import Collection, Sequence

from quartet_research.emos.goals import Goal
from quartet_research.emos.house import household_of, region_at
from quartet_research.emos.instance import Instance
from quartet_simulation.buildings import Call as HouseholdCall
from quartet_simulation.buildings.pixels import detected
from quartet_simulation.errors import SimulationError
from quartet_teams.emos import ROBOT_FUNCTIONS, Call, CallError, Outcome

OF_ARMS = ("pick", "place", "reset_arm")


class EpisodeStage:
    """Stage of an episode. Goals are evaluated whenever a call ends; success needs all of them at the same step."""

    def __init__(
        self, instance: Instance, *, goals: Sequence[Goal] | None = None, step_limit: int | None = None
    ) -> None:
        self._instance = instance
        self._goals = instance.goals if goals is None else goals
        self._household = household_of(instance, step_limit or instance.step_limit)
        self._calls: dict[str, Call] = {}
        self.outcomes: list[Outcome] = []
        """Outcomes of all calls."""
        self.reached = [False] * len(self._goals)
        """Whether each goal has been true."""
        self.succeeded = False

    @property
    def steps(self) -> int:
        """Steps until now."""
        return self._household.steps

    @property
    def over(self) -> bool:
        """Whether all goals are true, or the limit of steps is reached."""
        return self.succeeded or self._household.over

    def functions(self, robot: str) -> Collection[str]:
        """Return the functions that the body of a robot has."""
        armless = self._household.robot(robot).body.arm is None
        return [name for name in ROBOT_FUNCTIONS if not (armless and name in OF_ARMS)]

    def observe(self, robot: str) -> str:
        """Return where a robot is, what it holds, and what it measures of the thing of its last call, as text."""
        stand, held = self._household.where(robot), self._household.held(robot)
        region = region_at(self._household.building, stand.storey, stand.x, stand.y)
        text = f"You are in the region '{region}' on the floor '{stand.storey}' and hold {held or 'nothing'}."
        last = self._calls.get(robot)
        target = last.arguments.get("target_location") or last.arguments.get("target_obj") if last else None
        return text if target in (None, held) else f"{text} {self._measured(robot, target)}"

    def _measured(self, robot: str, thing: str) -> str:
        """Return how far a thing is from a robot that sees it, or else the place that the scene gives it."""
        known, seen = self._instance.things[thing], detected(self._household, robot, thing)
        stand, building = self._household.where(robot), self._household.building
        away = building.distance(stand, known.storey, known.position)
        if seen:
            away = self._household.distance(robot, thing)
        text = f"The straight distance from your base to '{thing}' is {away:.2f} m"
        if known.kind == "object":
            text += (
                ", and your cameras see it" if seen else " if it is where the scene says; no camera of yours sees it"
            )
        return f"{text}."

    def begin(self, robot: str, call: Call) -> None:
        """Begin a call of a robot that does nothing. Raises CallError, also for a thing that is not there."""
        for name, target in call.arguments.items():
            self._check_name(call.function, name, target)
        try:
            self._household.begin(robot, HouseholdCall(call.function, **call.arguments))
        except SimulationError as error:
            raise CallError(str(error)) from error
        self._calls[robot] = call

    def _check_name(self, function: str, argument: str, target: str) -> None:
        """Raise CallError for a name that is none of those that a function can do something with."""
        kinds = {"nav_to_obj": ("object", "spot")}.get(function, ("object",))
        if argument == "target_location":
            kinds = ("spot",)
        valid = [name for name, thing in self._instance.things.items() if thing.kind in kinds]
        if target not in valid:
            what = " or ".join({"object": "object", "spot": "place"}[kind] for kind in kinds)
            raise CallError(f"{argument} is {target!r}, which is no {what}; valid: {', '.join(valid) or 'none'}")

    async def advance(self) -> Sequence[Outcome]:
        """Let time pass until calls end; return their outcomes."""
        return self.step()

    def step(self) -> list[Outcome]:
        """Let time pass until calls end; return their outcomes."""
        ended = self._household.advance()
        if ended:
            true = [goal.holds(self._household) for goal in self._goals]
            self.reached = [before or now for before, now in zip(self.reached, true, strict=True)]
            self.succeeded = all(true)
        outcomes = [Outcome(one.robot, self._calls[one.robot], "" if one.ok else one.reason) for one in ended]
        self.outcomes += outcomes
        return outcomes
