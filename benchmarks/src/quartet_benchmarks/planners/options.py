"""What an experiment with teams is: its teams, worlds, sizes, models, and how much of it is run here."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.planners.speakers import SPEAKERS, speakers_name
from quartet_grid_worlds import PUBLISHED_ROBOTS, WORLDS, GridWorldError, make
from quartet_teams import TEAMS, HistoryMode

KIND_NAMES = {int: "whole number", float: "number", str: "name"}
HISTORY = {"none": HistoryMode.NONE, "pairs": HistoryMode.STATE_ACTION, "all": HistoryMode.DIALOGUE}


@dataclass(frozen=True)
class Experiment:
    """Trials of every framework, suite, number of robots, seed, history and model. Raises OptionError."""

    framework: tuple[str, ...] = tuple(TEAMS)
    suite: tuple[str, ...] = tuple(WORLDS)
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
        _among("framework", self.framework, TEAMS)
        _among("suite", self.suite, WORLDS)
        _among("history", self.history, HISTORY)
        if self.trials < 1 or self.seed < 0:
            raise OptionError(f"trials {self.trials} with seed {self.seed}: trials is at least 1, seed at least 0")
        for rate in self.p_fault:
            if not 0 <= rate <= 1:
                raise OptionError(f"p-fault {rate}: a rate is from 0 to 1")
        if any(self.p_fault) and SPEAKERS not in self.model:
            raise OptionError(f"p-fault is of the reference speakers; add the model {SPEAKERS} or leave it out")
        for world in self.suite:
            for size in self.robots:
                try:
                    make(world, size, self.seed)
                except GridWorldError as error:
                    raise OptionError(f"{error}; published are {_list(PUBLISHED_ROBOTS[world])}") from error

    @property
    def instances(self) -> list[tuple[str, int, int]]:
        """World, robots and seed of every instance."""
        return [
            (world, robots, seed)
            for world in self.suite
            for robots in self.robots or PUBLISHED_ROBOTS[world]
            for seed in range(self.seed, self.seed + self.trials)
        ]

    @property
    def most_shards(self) -> int:
        """Shards into which the instances of each world can be parted, so that none is empty."""
        return min(Counter(world for world, _, _ in self.instances).values())

    @property
    def models(self) -> list[str]:
        """Models by their names, the reference speakers once for each fault rate."""
        named = [[speakers_name(rate) for rate in self.p_fault] if name == SPEAKERS else [name] for name in self.model]
        return [name for names in named for name in names]


def read_experiment(options: Mapping[str, Any]) -> Experiment:
    """Return the experiment of the options that are given, others as they are; a suite may be a YAML file of options.

    Raises:
        OptionError: a field or value that there is not; it names the valid ones.
    """
    values = {name: value for name, value in options.items() if value not in (None, (), [])}
    suites = [str(name) for name in _tuple(values.get("suite", ()))]
    files = [name for name in suites if name.endswith((".yaml", ".yml"))]
    if files:
        if len(suites) > 1:
            raise OptionError(f"suite {_list(suites)}: a file of a suite stands alone")
        del values["suite"]
        values = _read_file(Path(files[0])) | values
    valid = {field.name: field.default for field in fields(Experiment)}
    if unknown := [name for name in values if name not in valid]:
        raise OptionError(f"there is no field {_list(unknown)}; valid: {_list(valid)}")
    return Experiment(**{name: _typed(name, value) for name, value in values.items()})


def read_shard(text: str) -> tuple[int, int]:
    """Return number and count of a shard such as `2/8`. Raises OptionError."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise OptionError(f"shard '{text}': give it as i/n with i from 1 to n, such as 2/8")
    return int(match[1]), int(match[2])


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


def _read_file(path: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise OptionError(f"suite {path} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise OptionError(f"suite {path} has no mapping of fields")
    return {str(name).replace("-", "_"): value for name, value in found.items()}


def _among(what: str, given: tuple[str, ...], valid: Mapping[str, Any]) -> None:
    if unknown := [name for name in given if name not in valid]:
        raise OptionError(f"there is no {what} '{unknown[0]}'; valid: {_list(valid)}")


def _list(names: Any) -> str:
    return ", ".join(map(str, names))
