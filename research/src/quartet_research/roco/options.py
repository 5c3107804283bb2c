"""Options of an experiment with RoCo: tasks, teams, trials and models."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.prices import SPEAKERS
from quartet_research.harness.options import find_unknown, find_wrong_models, names_in, read_options
from quartet_research.harness.study import Case, options_of
from quartet_research.roco.part import PATHS, PLANNERS, VARIED, WORDINGS
from quartet_research.roco.parts import GROUPS, PART_OF
from quartet_simulation.table_tasks import TASKS
from quartet_site import Fault
from quartet_teams.roco import Mode


@dataclass(frozen=True)
class Experiment:
    """Trials of every task and model, with all values of the options that apply to the task. Raises OptionError."""

    framework: tuple[str, ...] = (Mode.DIALOGUE.value,)
    tasks: tuple[str, ...] = tuple(TASKS)
    wording: tuple[str, ...] = WORDINGS
    """Wordings in which questions are asked."""
    trials: int | None = None
    """Trials of each task; None: as many as in the paper."""
    seed: int = 0
    history: tuple[str, ...] = ("all",)
    feedback: tuple[str, ...] = ("on",)
    planner: tuple[str, ...] = PLANNERS
    path: tuple[str, ...] = PATHS
    temperature: tuple[float, ...] = (0.0,)
    """Temperatures of language models; apply to the grid."""
    person: tuple[str, ...] = ("correcting", "imperfect")
    model: tuple[str, ...] = (SPEAKERS,)
    """Models of Inspect, `gateway/AGENT`, or `reference-speakers`."""
    p_fault: tuple[float, ...] = (0.0,)
    """Fault rates of the reference speakers."""

    def __post_init__(self) -> None:
        if wrong := [text for _, text in self._find_faults()]:
            raise OptionError(wrong[0])

    def _find_faults(self) -> Iterator[Fault]:
        for name, valid in VARIED.items():
            yield from find_unknown(name, getattr(self, name), valid)
        yield from find_unknown("task", self.tasks, [*GROUPS, *PART_OF])
        yield from self._find_wrong_temperatures()
        if (self.trials is not None and self.trials < 1) or self.seed < 0:
            yield (), f"trials {self.trials} with seed {self.seed}: valid: at least 1 trial, and a seed of at least 0"
        yield from find_wrong_models(self.model, self.p_fault)

    def _find_wrong_temperatures(self) -> Iterator[Fault]:
        if not self.temperature or any(not 0 <= value <= 2 for value in self.temperature):
            yield ("temperature",), f"temperature {self.temperature}: use at least one value, each from 0 to 2"
        if any(self.temperature) and SPEAKERS in self.model:
            yield ("temperature",), f"the {SPEAKERS} have no temperature; leave it out, or give another --model"
        of = [task for task, part in PART_OF.items() if "temperature" in part.varies]
        if any(self.temperature) and not set(of) & set(self.tasks):
            yield ("temperature",), f"no task of {', '.join(self.tasks)} has a temperature; valid: {', '.join(of)}"

    @property
    def parts(self) -> list[tuple[dict[str, Any], list[Case]]]:
        """Options of each task and variant alone, with their cases."""
        found: list[tuple[dict[str, Any], list[Case]]] = []
        for task in self.tasks:
            part = PART_OF[task]
            seeds = range(self.seed, self.seed + (self.trials or part.trials(task)))
            for values in itertools.product(*(getattr(self, name) for name in part.varies)):
                varied = dict(zip(part.varies, values, strict=True))
                options = options_of(self) | {"tasks": [task]} | {name: [value] for name, value in varied.items()}
                cases = [Case({"task": task, **varied}, {"seed": seed}) for seed in seeds]
                found.append((options, cases))
        return found


def read_experiment(options: Mapping[str, Any]) -> Experiment:
    """Return the experiment of the given options; lists of names may be separated by commas. Raises OptionError.

    The name of a part in `tasks` stands for all tasks of the part.
    """
    if given := names_in(options.get("tasks") or ()):
        options = {**options, "tasks": [task for name in given for task in GROUPS.get(name, (name,))]}
    return read_options(Experiment, "roco", options, (*VARIED, "tasks", "model"))
