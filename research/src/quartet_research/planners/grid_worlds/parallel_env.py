"""A grid world as a parallel environment of PettingZoo (the extra `pettingzoo`)."""
# pyright: basic, reportMissingImports=false

import string
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from quartet_research.harness.world import WAIT, World
from quartet_research.planners.grid_worlds.boxlift import BoxLift
from quartet_research.planners.grid_worlds.boxnet1 import COLOURS, BoxNet1, cell_of, centre
from quartet_research.planners.grid_worlds.boxnet2 import BoxNet2, corners_of
from quartet_research.planners.grid_worlds.pictures import picture
from quartet_research.planners.grid_worlds.suites import make
from quartet_research.planners.grid_worlds.warehouse import TO_TARGET, Warehouse, shelf_name

LONGEST_STATE = 50_000
"""Characters of a state's text; a warehouse of a hundred robots has some 10,000."""


class GridWorldEnv(ParallelEnv[str, dict[str, Any], int]):
    """All robots of a world act at once.

    An action is the number of one of all actions that the robot could ever do, in the order of `action_names`. An
    observation is `{"state": the text of `describe`, "action_mask": 1 for each action that is possible now}`. An
    action that is not possible now is taken as waiting, and its info says so under "refused". Every robot gets -1 for
    each step, and after a collision in addition -1 for each step that was left. Done and collision terminate, the
    limit of steps truncates.

    Args:
        world: name of the world.
        robots: their number.
        seed: of the instance until `reset` gives another one; a `reset` without a seed takes the next.
        render_mode: "ansi": text, "rgb_array": a picture.

    Raises:
        UnknownWorldError, SizeError.
    """

    metadata = {"name": "quartet_grid_world", "render_modes": ["ansi", "rgb_array"], "is_parallelizable": True}

    def __init__(self, world: str, robots: int, seed: int = 0, render_mode: str = "ansi") -> None:
        self._made_of = world, robots
        self._seed = seed - 1
        self.render_mode = render_mode
        self.world: World = make(world, robots, seed)
        self.possible_agents = list(self.world.robots)
        self.agents = []
        self.action_names = {robot: _every_action(self.world, robot) for robot in self.possible_agents}
        """Actions of each robot by their numbers."""
        self._action_spaces = {robot: spaces.Discrete(len(names)) for robot, names in self.action_names.items()}
        text = spaces.Text(LONGEST_STATE, charset=string.printable)
        self._observation_spaces = {
            robot: spaces.Dict({"state": text, "action_mask": spaces.MultiBinary(len(names))})
            for robot, names in self.action_names.items()
        }

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the same space for the same robot at every call."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the same space for the same robot at every call."""
        return self._action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
        """Begin the instance of a seed; without one, of the next."""
        self._seed = self._seed + 1 if seed is None else seed
        self.world = make(*self._made_of, self._seed)
        self.agents = list(self.possible_agents)
        return self._observations(), {robot: {} for robot in self.agents}

    def step(
        self, actions: dict[str, int]
    ) -> tuple[
        dict[str, dict[str, Any]], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
    ]:
        """Take one step; a robot without an action waits."""
        wanted = {robot: self.action_names[robot][int(number)] for robot, number in actions.items()}
        plan = {robot: action for robot, action in wanted.items() if action in self.world.actions(robot)}
        left = self.world.step_limit - self.world.steps
        told = self.world.step(plan)
        reward = -float(left) if told.collision else -1.0
        over = self.world.done or bool(told.collision)
        late = self.world.ended and not over
        acting, observations = self.agents, self._observations()
        infos: dict[str, dict[str, Any]] = {robot: {"feedback": told.feedback} for robot in acting}
        for robot in wanted.keys() - plan.keys():
            infos[robot]["refused"] = wanted[robot]
        if over or late:
            self.agents = []
        return (
            observations,
            dict.fromkeys(acting, reward),
            dict.fromkeys(acting, over),
            dict.fromkeys(acting, late),
            infos,
        )

    def render(self) -> str | np.ndarray[Any, np.dtype[np.uint8]]:
        """Return the state as text, or as a picture (height, width, 3)."""
        return self.world.describe() if self.render_mode == "ansi" else np.asarray(picture(self.world))

    def _observations(self) -> dict[str, dict[str, Any]]:
        state = self.world.describe()
        found: dict[str, dict[str, Any]] = {}
        for robot in self.agents:
            now = set(self.world.actions(robot))
            mask = np.array([name in now for name in self.action_names[robot]], dtype=np.int8)
            found[robot] = {"state": state, "action_mask": mask}
        return found


def _every_action(world: World, robot: str) -> tuple[str, ...]:
    """Return all actions that a robot could do in any state of a world of this size."""
    found: list[str] = []
    match world:
        case BoxNet1() | BoxNet2():
            cell = cell_of(robot)
            if isinstance(world, BoxNet1):
                places = [f"square[{centre(near)}]" for near in world.neighbours(cell)]
            else:
                places = [f"corner[{row}, {column}]" for row, column in corners_of(cell)]
            for colour in COLOURS:
                found += [f"move(box_{colour}, {place})" for place in (f"target_{colour}", *places)]
        case Warehouse():
            found += [f"move to the start of track_{track}" for track in range(world.tracks)]
            found += ["move left", "move right", TO_TARGET]
            shelves = [(gap, column) for gap in range(world.tracks - 1) for column in range(world.columns)]
            found += [f"pick {shelf_name(shelf)}" for shelf in shelves]
        case BoxLift():
            found += [f"lift {box}" for box in world.boxes]
        case _:
            raise TypeError(f"the actions of {world.name} have no numbers")
    return (*found, WAIT)
