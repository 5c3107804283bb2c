"""What an experiment with teams is: its teams, worlds, sizes, models, and how much of it is run here."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.prices import SPEAKERS
from quartet_research.harness.errors import WorldError
from quartet_research.harness.options import find_unknown, find_wrong_models
from quartet_research.harness.study import Case, options_of
from quartet_research.planners.own_teams import find_unknown_teams
from quartet_research.planners.worlds import GRIDS, SIZES, WORLDS, make
from quartet_site import Fault, SiteFileError, field_error, load_file
from quartet_teams import TEAMS, HistoryMode

KIND_NAMES = {int: "whole number", float: "number", str: "name"}
HISTORY = {"none": HistoryMode.NONE, "pairs": HistoryMode.STATE_ACTION, "all": HistoryMode.DIALOGUE}


@dataclass(frozen=True)
class Experiment:
    """Trials of every framework, suite, number of robots, seed, history and model. Raises OptionError."""

    framework: tuple[str, ...] = tuple(TEAMS)
    suite: tuple[str, ...] = GRIDS
    robots: tuple[int, ...] = ()
    """Empty: the published numbers of each world."""
    trials: int = 10
    seed: int = 0
    model: tuple[str, ...] = (SPEAKERS,)
    """Models of Inspect such as `openai/gpt-4o`; `gateway/AGENT` for an agent's model at our gateway;
    `reference-speakers` for rules that play the roles."""
    history: tuple[str, ...] = ("pairs",)
    p_fault: tuple[float, ...] = (0.0,)
    """Fault rates of the reference speakers."""

    def __post_init__(self) -> None:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if wrong := [text for _, text in find_faults(values)]:
            raise OptionError(wrong[0])

    @property
    def instances(self) -> list[tuple[str, int, int]]:
        """World, robots and seed of every instance."""
        return [
            (world, robots, seed)
            for world in self.suite
            for robots in self.robots or SIZES[world]
            for seed in range(self.seed, self.seed + self.trials)
        ]

    @property
    def parts(self) -> list[tuple[dict[str, Any], list[Case]]]:
        """Options of each world, history and framework alone, with their cases."""
        found: list[tuple[dict[str, Any], list[Case]]] = []
        for world, history, framework in itertools.product(self.suite, self.history, self.framework):
            options = options_of(self) | {"suite": [world], "history": [history], "framework": [framework]}
            setting = {"world": world, "framework": framework, "history": history}
            own = [(robots, seed) for name, robots, seed in self.instances if name == world]
            found.append((options, [Case(setting, {"robots": robots, "seed": seed}) for robots, seed in own]))
        return found


class SuiteFile(BaseModel):
    """A suite as a YAML file: fields of an experiment, each with one value or a list."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    framework: Any = None
    suite: Any = None
    robots: Any = None
    trials: Any = None
    seed: Any = None
    model: Any = None
    history: Any = None
    p_fault: Any = Field(default=None, alias="p-fault")

    @field_validator("*", mode="before")
    @classmethod
    def _of_its_kind(cls, value: Any, info: ValidationInfo) -> Any:
        try:
            return _typed(str(info.field_name), value)
        except OptionError as error:
            raise field_error(str(error)) from error

    @property
    def values(self) -> dict[str, Any]:
        """The fields that the file has."""
        return {name: getattr(self, name) for name in self.model_fields_set}


def find_faults(values: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield place (field, and position in it) and text of what is wrong with the values of an experiment."""
    experiment = SimpleNamespace(**{field.name: field.default for field in fields(Experiment)} | dict(values))
    yield from find_unknown_teams("framework", experiment.framework)
    yield from find_unknown("suite", experiment.suite, WORLDS)
    yield from find_unknown("history", experiment.history, HISTORY)
    if experiment.trials < 1:
        yield ("trials",), f"trials {experiment.trials}: trials is at least 1"
    if experiment.seed < 0:
        yield ("seed",), f"seed {experiment.seed}: seed is at least 0"
    yield from find_wrong_models(experiment.model, experiment.p_fault)
    for world in experiment.suite:
        for at, size in enumerate(experiment.robots if world in WORLDS else ()):
            try:
                make(world, size, max(0, experiment.seed))
            except WorldError as error:
                yield ("robots", at), f"{error}; published are {_list(SIZES[world])}"


def read_experiment(options: Mapping[str, Any]) -> Experiment:
    """Return the experiment of the given options, with defaults for the rest; a suite may be a YAML file of options.

    Raises:
        OptionError: a field or value that there is not; it names the valid ones, and file and line of a file.
    """
    values = {name: value for name, value in options.items() if value not in (None, (), [])}
    suites = [str(name) for name in _tuple(values.get("suite", ()))]
    files = [name for name in suites if name.endswith((".yaml", ".yml"))]
    of_file: dict[str, Any] = {}
    if files:
        if len(suites) > 1:
            raise OptionError(f"suite {_list(suites)}: a file of a suite stands alone")
        del values["suite"]
        try:
            read = load_file(Path(files[0]), SuiteFile, "suite file", check=lambda file: find_faults(file.values))
        except SiteFileError as error:
            raise OptionError(str(error)) from error
        of_file = read.values
    valid = {field.name: field.default for field in fields(Experiment)}
    if unknown := [name for name in values if name not in valid]:
        raise OptionError(f"there is no field {_list(unknown)}; valid: {_list(valid)}")
    return Experiment(**of_file | {name: _typed(name, value) for name, value in values.items()})


def _typed(name: str, value: Any) -> Any:
    kind = {"robots": int, "trials": int, "seed": int, "p_fault": float}.get(name, str)
    single = name in ("trials", "seed")
    found = [value] if single else list(_tuple(value))
    for one in found:
        # YAML's `true` is an int to Python, and its 1 is a rate.
        if isinstance(one, bool) or not isinstance(one, (int, float) if kind is float else kind):
            raise OptionError(f"{name} {one!r} is no {KIND_NAMES[kind]}")
    return kind(value) if single else tuple(dict.fromkeys(map(kind, found)))


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _list(names: Any) -> str:
    return ", ".join(map(str, names))
