"""A task at the table as a parallel environment of PettingZoo (the extra `pettingzoo`)."""
# pyright: basic, reportMissingImports=false

import string
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from quartet_benchmarks.errors import OptionError
from quartet_research.roco.table_part import STEPS
from quartet_simulation.table_tasks import TASKS
from quartet_teams import AnswerError
from quartet_teams.roco import parse_reply

LONGEST_ACTION, LONGEST_STATE = 400, 10_000
"""Characters."""


class TableEnv(ParallelEnv[str, str, str]):
    """All robots of a task act at once.

    An action is a text as robots write it in a plan, such as `PICK ham` or `PICK apple PATH [(0.1, 0.4, 0.5), ...]`;
    an observation is what the robot itself observes. The infos have under "feedback" why the joint plan was refused or
    not executed; the table is then as before, and the step counts. Every robot gets -1 for each step. Success by
    ground truth terminates, the limit of steps truncates.

    Args:
        task: name of the task.
        seed: of the instance until `reset` gives another one; a `reset` without a seed takes the next.
        steps: limit of an episode.
        render_mode: "ansi": text, "rgb_array": a picture (height, width, 3; uint8).

    Raises:
        OptionError: unknown task.
    """

    metadata = {"name": "quartet_table", "render_modes": ["ansi", "rgb_array"], "is_parallelizable": True}

    def __init__(self, task: str, seed: int = 0, steps: int = STEPS, render_mode: str = "ansi") -> None:
        if task not in TASKS:
            raise OptionError(f"there is no task '{task}'; valid: {', '.join(TASKS)}")
        self._kind = TASKS[task]
        self._seed = seed - 1
        self._steps = steps
        self.render_mode = render_mode
        self.task = self._kind(seed)
        self.possible_agents = list(self.task.robots)
        self.agents = []
        texts = (LONGEST_STATE, LONGEST_ACTION)
        state, action = (spaces.Text(most, min_length=0, charset=string.printable) for most in texts)
        self._observation_spaces = dict.fromkeys(self.possible_agents, state)
        self._action_spaces = dict.fromkeys(self.possible_agents, action)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the same space for the same robot at every call."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the same space for the same robot at every call."""
        return self._action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        """Begin the instance of a seed; without one, of the next."""
        self._seed = self._seed + 1 if seed is None else seed
        self.task = self._kind(self._seed)
        self.agents = list(self.possible_agents)
        return self._observations(), {robot: {} for robot in self.agents}

    def step(
        self, actions: dict[str, str]
    ) -> tuple[dict[str, str], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Execute one joint plan; every robot needs an action."""
        lines = (f"NAME {robot} ACTION {' '.join(action.split())}" for robot, action in actions.items())
        try:
            plan = parse_reply("\n".join(["EXECUTE", *lines]), self.task)
            complaints = self.task.check(plan)
        except AnswerError as error:
            complaints, plan = [("parse", str(error))], {}
        if complaints:
            self.task.steps += 1
            feedback = " ".join(text for _, text in complaints)
        else:
            feedback = self.task.step(plan).failure
        over, acting = self.task.done, self.agents
        late = self.task.steps >= self._steps and not over
        observations = self._observations()
        if over or late:
            self.agents = []
        infos: dict[str, dict[str, Any]] = {robot: {"feedback": feedback} for robot in acting}
        return (
            observations,
            dict.fromkeys(acting, -1.0),
            dict.fromkeys(acting, over),
            dict.fromkeys(acting, late),
            infos,
        )

    def render(self) -> str | np.ndarray[Any, np.dtype[np.uint8]]:
        """Return the state as text, or as a picture (height, width, 3)."""
        return self.task.describe() if self.render_mode == "ansi" else self.task.scene.picture()

    def _observations(self) -> dict[str, str]:
        return {robot: self.task.describe_robot(robot) for robot in self.agents}
