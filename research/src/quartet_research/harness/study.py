"""Study: the experiment of a paper, in the form that the harness runs."""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.prices import SPEAKERS
from quartet_benchmarks.result import BenchResult
from quartet_research.harness.shards import read_shard
from quartet_research.harness.speakers import speakers_name
from quartet_teams import Model

STUDIES = {
    "armtable": "quartet_research.planners.study:ARM_TABLE",
    "emos": "quartet_research.emos.study:STUDY",
    "malmm": "quartet_research.malmm.study:STUDY",
    "planners": "quartet_research.planners.study:STUDY",
    "roco": "quartet_research.roco.study:STUDY",
}
"""Module and name of each study."""


@dataclass(frozen=True)
class Case:
    """Trial to play. All values are strings, numbers or booleans, so that a case is stored as JSON.

    Args:
        setting: what the tables compare, such as framework and history.
        instance: what is drawn, such as world, size and seed.
    """

    setting: Mapping[str, Any]
    instance: Mapping[str, Any]

    @property
    def key(self) -> tuple[Any, ...]:
        """Values of setting and instance, in their order."""
        return (*self.setting.values(), *self.instance.values())

    @property
    def name(self) -> str:
        """Values of setting and instance, joined by dashes."""
        return "-".join(map(str, self.key))


class Trial(Protocol):
    """Fields that the trials of all studies have. A trial is a dataclass; a list in it is too long for a table."""

    @property
    def succeeded(self) -> bool:
        """Whether the task is done, by ground truth."""
        ...

    @property
    def calls(self) -> int:
        """Calls of the model."""
        ...

    @property
    def tokens(self) -> int:
        """Tokens of all calls."""
        ...


@dataclass(frozen=True)
class Record:
    """Trial and its case."""

    model: str
    """Model that answered; of reference speakers with their fault rate."""
    case: Case
    trial: Any
    broke_off: str = ""
    """Error that broke off the trial, which counts as failed until a run completes it; empty if it ended."""

    @property
    def key(self) -> tuple[Any, ...]:
        """Values that distinguish the trial from all others."""
        return (*self.case.key, self.model)


class Experiment(Protocol):
    """Options of an experiment: a frozen dataclass whose fields are strings, numbers or tuples of them."""

    @property
    def seed(self) -> int:
        """Seed of the first instance."""
        ...

    @property
    def model(self) -> tuple[str, ...]:
        """Models by their names in Inspect, `gateway/AGENT`, or `reference-speakers`."""
        ...

    @property
    def p_fault(self) -> tuple[float, ...]:
        """Fault rates of the reference speakers."""
        ...

    @property
    def parts(self) -> Sequence[tuple[Mapping[str, Any], Sequence[Case]]]:
        """Options that name each setting alone, with its cases. No part is empty."""
        ...


@dataclass(frozen=True)
class Report:
    """Result of an experiment, with tables and a figure for its folder."""

    result: BenchResult
    sections: Mapping[str, Sequence[Mapping[str, Any]]]
    """Further tables, by their headings."""
    draw: Callable[[], Any] | None = None
    """Returns a figure of matplotlib, which the harness stores as `success.png`."""


class Study(ABC):
    """Experiment of a paper."""

    name: str
    """Name of the suite."""
    trial: type[Any]
    """Dataclass of a trial."""

    def trial_of(self, values: Mapping[str, Any]) -> Any:
        """Return the trial whose fields JSON has. Raises TypeError if they are others."""
        return self.trial(
            **{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        )

    @abstractmethod
    def read(self, options: Mapping[str, Any]) -> Experiment:
        """Return the experiment that the options name. Raises OptionError."""

    @abstractmethod
    def speakers(self, rate: float, case: Case) -> Model:
        """Return the reference speakers of a case, with a fault rate from 0 to 1."""

    @abstractmethod
    async def play(self, case: Case, model: Model, count: Callable[[str], int]) -> Any:
        """Play a case and return its trial.

        Args:
            case: what is played.
            model: answers for every participant.
            count: returns the number of tokens of a text.
        """

    @abstractmethod
    def broken_off(self, case: Case, reason: str, calls: int, tokens: int) -> Any:
        """Return the failed trial of a case that began and broke off."""

    @abstractmethod
    def report(self, experiment: Any, records: Sequence[Record]) -> Report:
        """Return the tables of the trials of an experiment that `read` returned."""


def load_study(name: str) -> Study:
    """Return a study by its name. Raises OptionError."""
    if name not in STUDIES:
        raise OptionError(f"there is no study '{name}'; valid: {', '.join(STUDIES)}")
    module, _, found = STUDIES[name].partition(":")
    return getattr(importlib.import_module(module), found)


def cases_of(experiment: Experiment, shard: str) -> list[tuple[Mapping[str, Any], list[Case]]]:
    """Return the parts of an experiment with every n-th case, as the shard says. Raises OptionError."""
    number, count = read_shard(shard)
    parts = experiment.parts
    if count > (most := min(len(cases) for _, cases in parts)):
        raise OptionError(f"shard {shard}: the smallest part of the experiment is enough for {most} shards")
    return [(options, list(cases[number - 1 :: count])) for options, cases in parts]


def speakers_of(experiment: Experiment) -> dict[str, float]:
    """Return the fault rates of the reference speakers by their names; none if they do not answer."""
    return {speakers_name(rate): rate for rate in experiment.p_fault} if SPEAKERS in experiment.model else {}


def language_models_of(experiment: Experiment) -> list[str]:
    """Return the models that Inspect calls, by their names."""
    return [name for name in experiment.model if name != SPEAKERS]


def options_of(experiment: Experiment) -> dict[str, Any]:
    """Return the fields of an experiment as JSON has them."""
    values = {one.name: getattr(experiment, one.name) for one in fields(experiment)}  # type: ignore[arg-type]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def logged_name(model: str) -> str:
    """Return the name under which tables have a model of Inspect."""
    return model.removeprefix("openai-api/")


def names_of(experiment: Experiment, shard: str) -> list[tuple[str, str]]:
    """Return model and name of the case of each trial of a shard. Raises OptionError."""
    models = [*speakers_of(experiment), *map(logged_name, language_models_of(experiment))]
    return [(model, case.name) for model in models for _, cases in cases_of(experiment, shard) for case in cases]
