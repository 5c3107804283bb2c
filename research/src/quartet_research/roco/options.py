"""Options of an experiment with RoCo: tasks, teams, trials and models."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.prices import SPEAKERS
from quartet_research.harness.options import find_unknown, find_wrong_models, read_options
from quartet_research.harness.study import Case, options_of
from quartet_simulation.table_tasks import TASKS
from quartet_site import Fault
from quartet_teams.roco import Mode

MODES = tuple(mode.value for mode in Mode)
SWITCH = {"on": True, "off": False}
HISTORY = {"all": True, "none": False}


@dataclass(frozen=True)
class Experiment:
    """Trials of every mode, task, history, feedback and model. Raises OptionError."""

    framework: tuple[str, ...] = (Mode.DIALOGUE.value,)
    tasks: tuple[str, ...] = tuple(TASKS)
    trials: int = 20
    """Of each task (the paper: 20)."""
    seed: int = 0
    history: tuple[str, ...] = ("all",)
    feedback: tuple[str, ...] = ("on",)
    model: tuple[str, ...] = (SPEAKERS,)
    """Models of Inspect, `gateway/AGENT`, or `reference-speakers`."""
    p_fault: tuple[float, ...] = (0.0,)
    """Fault rates of the reference speakers."""

    def __post_init__(self) -> None:
        if wrong := [text for _, text in self._find_faults()]:
            raise OptionError(wrong[0])

    def _find_faults(self) -> Iterator[Fault]:
        yield from find_unknown("framework", self.framework, MODES)
        yield from find_unknown("task", self.tasks, TASKS)
        yield from find_unknown("history", self.history, HISTORY)
        yield from find_unknown("feedback", self.feedback, SWITCH)
        if self.trials < 1 or self.seed < 0:
            yield (), f"trials {self.trials} with seed {self.seed}: at least 1 trial, seed at least 0"
        yield from find_wrong_models(self.model, self.p_fault)

    @property
    def parts(self) -> list[tuple[dict[str, Any], list[Case]]]:
        """Options of each task, mode, history and feedback alone, with their cases."""
        found: list[tuple[dict[str, Any], list[Case]]] = []
        for task, mode, history, feedback in itertools.product(self.tasks, self.framework, self.history, self.feedback):
            setting = {"task": task, "framework": mode, "history": history, "feedback": feedback}
            options = options_of(self) | {("tasks" if k == "task" else k): [value] for k, value in setting.items()}
            seeds = range(self.seed, self.seed + self.trials)
            found.append((options, [Case(setting, {"seed": seed}) for seed in seeds]))
        return found


def read_experiment(options: Mapping[str, Any]) -> Experiment:
    """Return the experiment of the given options; lists of names may be separated by commas. Raises OptionError."""
    return read_options(Experiment, "roco", options, ("framework", "tasks", "history", "feedback", "model"))
