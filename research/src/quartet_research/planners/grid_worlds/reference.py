"""Reference number of steps of an instance: those of the best plan that a search has found, and a bound of all."""

from dataclasses import dataclass

from quartet_research.harness.errors import WorldError
from quartet_research.harness.world import World
from quartet_research.planners.grid_worlds.heuristics import Plan, fewest_steps, good_step

TRIES = 30
PATIENCE = 40
"""Steps after which a try is given up, in multiples of the bound; a plan so long is of no use."""


@dataclass(frozen=True)
class Reference:
    """The best plan that was found for an instance."""

    plans: tuple[Plan, ...]
    bound: int
    """No plan is shorter."""

    @property
    def steps(self) -> int:
        """Number of steps of the plan."""
        return len(self.plans)

    @property
    def optimal(self) -> bool:
        """Whether the plan is proved to be as short as possible."""
        return self.steps == self.bound


def reference(world: World, tries: int = TRIES) -> Reference:
    """Return the shortest of several plans; it is played to the end, so that the instance is proved solvable.

    The search ends early at a plan as short as the bound. Raises WorldError when none was found.
    """
    bound = fewest_steps(world)
    best: tuple[Plan, ...] | None = None
    for variant in range(tries):
        played = _play(world, variant, PATIENCE * max(1, bound) if best is None else len(best) - 1)
        best = played or best
        if best is not None and len(best) == bound:
            break
    if best is None:
        raise WorldError(f"no plan was found for this instance of {world.name} in {tries} tries")
    return Reference(best, bound)


def _play(world: World, variant: int, limit: int) -> tuple[Plan, ...] | None:
    world = world.copy()
    world.step_limit = world.steps + limit
    plans: list[Plan] = []
    while not world.ended:
        plan = good_step(world, variant)
        world.step(plan)
        plans.append(plan)
    return tuple(plans) if world.done else None
