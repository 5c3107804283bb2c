"""Options of an experiment with EMOS: methods and baselines, families of tasks, episodes and models."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.prices import SPEAKERS
from quartet_research.emos.families import FAMILIES
from quartet_research.harness.options import find_unknown, find_wrong_models, read_options
from quartet_research.harness.study import Case, options_of
from quartet_site import Fault
from quartet_teams.emos import METHODS

ORACLE, RANDOM, ALL_TO_ONE, TRY_ALL = "oracle", "random", "all-to-one", "try-all"
BASELINES = (ORACLE, RANDOM, ALL_TO_ONE, TRY_ALL)
"""Plays without a model: the assignment that succeeds; one drawn from all; all subtasks to one robot, a trial for each
robot; every robot tries every goal."""
FRAMEWORKS = (*METHODS, *BASELINES)


@dataclass(frozen=True)
class Experiment:
    """Episodes of every framework, family and model. Raises OptionError."""

    framework: tuple[str, ...] = FRAMEWORKS
    tasks: tuple[str, ...] = tuple(FAMILIES)
    episodes: int | None = None
    """Of each family; None: as many as published."""
    seed: int = 0
    model: tuple[str, ...] = (SPEAKERS,)
    """Models of Inspect, `gateway/AGENT`, or `reference-speakers`."""
    p_fault: tuple[float, ...] = (0.0,)
    """Fault rates of the reference speakers."""

    def __post_init__(self) -> None:
        if wrong := [text for _, text in self._find_faults()]:
            raise OptionError(wrong[0])

    def _find_faults(self) -> Iterator[Fault]:
        """Yield place and text of what is wrong with the values."""
        yield from find_unknown("framework", self.framework, FRAMEWORKS)
        yield from find_unknown("task", self.tasks, FAMILIES)
        if (self.episodes is not None and self.episodes < 1) or self.seed < 0:
            yield (), f"episodes {self.episodes} with seed {self.seed}: valid: at least 1 episode, seed at least 0"
        yield from find_wrong_models(self.model, self.p_fault)

    @property
    def parts(self) -> list[tuple[dict[str, Any], list[Case]]]:
        """Options of each framework alone, with its cases."""
        return [
            (
                options_of(self) | {"framework": [framework]},
                [Case({"framework": framework}, one) for one in self._instances(framework)],
            )
            for framework in self.framework
        ]

    def _instances(self, framework: str) -> Iterator[dict[str, Any]]:
        """Yield family, size and seed of every episode; of all-to-one, also the body of the robot."""
        for task in self.tasks:
            family = FAMILIES[task]
            bodies = list(dict.fromkeys(family.bodies)) if framework == ALL_TO_ONE else [""]
            for seed in range(self.seed, self.seed + (self.episodes or family.episodes)):
                robots, objects = family.sizes[seed % len(family.sizes)] if family.sizes else (0, 0)
                sizes = {"robots": robots, "objects": objects} if family.sizes else {}
                yield from ({"task": task, **sizes, **({"robot": one} if one else {}), "seed": seed} for one in bodies)


def read_experiment(options: Mapping[str, Any]) -> Experiment:
    """Return the experiment of the given options; lists of names may be separated by commas. Raises OptionError."""
    return read_options(Experiment, "emos", options, ("framework", "tasks", "model"))
