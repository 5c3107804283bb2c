"""What an experiment with MALMM's frameworks is: frameworks, tasks, episodes, feedback, models."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.prices import SPEAKERS
from quartet_research.harness.options import find_unknown, find_wrong_models, read_options
from quartet_research.harness.study import Case, options_of
from quartet_simulation.tabletop import TASKS
from quartet_site import Fault
from quartet_teams.malmm import ROUNDS

FEEDBACK = {"on": True, "off": False}
OBSERVATIONS = ("state", "vision")
"""Where the state text comes from: ground truth, as in the paper's main tables, or the cameras."""
VARIATION_STEP = 7
"""Step between variations of consecutive episodes; coprime to 20 and 60."""


@dataclass(frozen=True)
class Experiment:
    """Episodes of every framework, task, feedback and model. Raises OptionError."""

    framework: tuple[str, ...] = tuple(ROUNDS)
    tasks: tuple[str, ...] = tuple(TASKS)
    episodes: int = 25
    """Of each task (the paper's figures fit 25)."""
    seed: int = 0
    observation: str = "state"
    feedback: tuple[str, ...] = ("on",)
    model: tuple[str, ...] = (SPEAKERS,)
    """Models of Inspect such as `openai/gpt-4o`; `gateway/AGENT` for an agent's model at our gateway;
    `reference-speakers` for rules that play the roles."""
    p_fault: tuple[float, ...] = (0.0,)
    """Fault rates of the reference speakers."""

    def __post_init__(self) -> None:
        if wrong := [text for _, text in self._find_faults()]:
            raise OptionError(wrong[0])

    def _find_faults(self) -> Iterator[Fault]:
        """Yield place and text of what is wrong with the values."""
        yield from find_unknown("framework", self.framework, ROUNDS)
        yield from find_unknown("task", self.tasks, TASKS)
        yield from find_unknown("feedback", self.feedback, FEEDBACK)
        yield from find_unknown("observation", (self.observation,), OBSERVATIONS)
        if self.episodes < 1 or self.seed < 0:
            yield (), f"episodes {self.episodes} with seed {self.seed}: at least 1 episode, seed at least 0"
        yield from find_wrong_models(self.model, self.p_fault)

    @property
    def instances(self) -> list[tuple[str, int, int]]:
        """Task, variation and seed of every episode."""
        return [
            (task, at * VARIATION_STEP % TASKS[task].variations, at)
            for task in self.tasks
            for at in range(self.seed, self.seed + self.episodes)
        ]

    @property
    def parts(self) -> list[tuple[dict[str, Any], list[Case]]]:
        """Options of each framework and feedback alone, with their cases."""
        found: list[tuple[dict[str, Any], list[Case]]] = []
        for framework, feedback in itertools.product(self.framework, self.feedback):
            options = options_of(self) | {"framework": [framework], "feedback": [feedback]}
            setting = {"framework": framework, "feedback": feedback, "observation": self.observation}
            own = [{"task": task, "variation": variation, "seed": seed} for task, variation, seed in self.instances]
            found.append((options, [Case(setting, instance) for instance in own]))
        return found


def read_experiment(options: Mapping[str, Any]) -> Experiment:
    """Return the experiment of the given options; lists of names may be separated by commas.

    Raises:
        OptionError: a field or value that there is not; it names the valid ones.
    """
    return read_options(Experiment, "malmm", options, ("framework", "tasks", "feedback", "model"))
