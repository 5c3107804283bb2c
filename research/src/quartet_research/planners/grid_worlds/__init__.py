"""The discrete worlds of multi-robot planning: BoxNet1, BoxNet2, Warehouse and BoxLift.

world = make("boxnet2", robots=8, seed=3)            the instance of a seed
world.describe(), world.actions("Agent[0.5, 0.5]")   what a language model is told
world.step({"Agent[0.5, 0.5]": "move(box_red, corner[1, 1])"})
picture(world)                                       the state to look at; `replay` draws it after each of several plans
parallel_env("boxnet2", robots=8)                    the same for PettingZoo
reference(world).steps                               a plan that solves it, and whether it is the shortest
"""

from typing import Any

from quartet_research.harness.errors import IllegalPlanError, SizeError, StateError, UnknownWorldError, WorldError
from quartet_research.harness.world import WAIT, Step, World, limits_of
from quartet_research.planners.grid_worlds.boxlift import Box, BoxLift
from quartet_research.planners.grid_worlds.boxnet1 import BoxNet1
from quartet_research.planners.grid_worlds.boxnet2 import BoxNet2
from quartet_research.planners.grid_worlds.heuristics import fewest_steps, good_step, lift_step
from quartet_research.planners.grid_worlds.pictures import picture, replay
from quartet_research.planners.grid_worlds.reference import Reference, reference
from quartet_research.planners.grid_worlds.suites import MOST_ROBOTS, PUBLISHED_ROBOTS, WORLDS, from_state, make
from quartet_research.planners.grid_worlds.warehouse import Robot, Warehouse

__all__ = [
    "MOST_ROBOTS",
    "PUBLISHED_ROBOTS",
    "WAIT",
    "WORLDS",
    "Box",
    "BoxLift",
    "BoxNet1",
    "BoxNet2",
    "IllegalPlanError",
    "Reference",
    "Robot",
    "SizeError",
    "StateError",
    "Step",
    "UnknownWorldError",
    "Warehouse",
    "World",
    "WorldError",
    "fewest_steps",
    "from_state",
    "good_step",
    "lift_step",
    "limits_of",
    "make",
    "parallel_env",
    "picture",
    "reference",
    "replay",
]


def parallel_env(world: str, robots: int, seed: int = 0, render_mode: str = "ansi") -> Any:
    """Return a world as a parallel environment of PettingZoo, which the extra `pettingzoo` brings.

    `render` gives the text of the state, or with the mode "rgb_array" its picture (height, width, 3; uint8).

    Raises:
        UnknownWorldError, SizeError, ImportError.
    """
    from quartet_research.planners.grid_worlds.parallel_env import GridWorldEnv

    return GridWorldEnv(world, robots, seed, render_mode)
