"""Episode of an instance: the stage on which teams and the oracle make their calls."""

from collections.abc import Sequence

from quartet_research.emos.goals import Goal
from quartet_research.emos.house import household_of, region_at
from quartet_research.emos.instance import Instance
from quartet_simulation.buildings import Call as HouseholdCall
from quartet_simulation.errors import SimulationError
from quartet_teams.emos import Call, CallError, Outcome


class EpisodeStage:
    """Stage of an episode. Goals are evaluated whenever a call ends; success needs all of them at the same step."""

    def __init__(
        self, instance: Instance, *, goals: Sequence[Goal] | None = None, step_limit: int | None = None
    ) -> None:
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

    def observe(self, robot: str) -> str:
        """Return where a robot is and what it holds, as text."""
        stand, held = self._household.where(robot), self._household.held(robot)
        region = region_at(self._household.building, stand.storey, stand.x, stand.y)
        return f"You are in the region '{region}' on the floor '{stand.storey}' and hold {held or 'nothing'}."

    def begin(self, robot: str, call: Call) -> None:
        """Begin a call of a robot that does nothing. Raises CallError."""
        try:
            self._household.begin(robot, HouseholdCall(call.function, **call.arguments))
        except SimulationError as error:
            raise CallError(str(error)) from error
        self._calls[robot] = call

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
