"""Trials of an experiment that were asked for, played, or not begun, from the folders of one or several shards."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quartet_benchmarks.errors import OptionError
from quartet_research.harness.study import Record

Name = tuple[str, str]
"""Model, and name of the case."""


@dataclass
class Trials:
    """Trials that were found.

    Args:
        study: name of the study; empty if nothing was found.
        options: fields of the experiments, by their names, one mapping for each file or log.
        shards: such as `2/8`, one for each file or log.
        records: trials that ended or broke off, by model and name of the case.
            errors: reasons for which trials have no record.
    """

    study: str = ""
    options: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    shards: list[str] = field(default_factory=list[str])
    records: dict[Name, Record] = field(default_factory=dict[Name, Record])
    errors: dict[Name, str] = field(default_factory=dict[Name, str])

    def add(self, other: "Trials") -> None:
        """Add the trials of another folder. Raises OptionError if they are of another study."""
        if self.study and other.study and self.study != other.study:
            raise OptionError(f"these are trials of {self.study} and of {other.study}; merge those of one")
        self.study = self.study or other.study
        self.options += other.options
        self.shards += other.shards
        for name, record in other.records.items():
            known = self.records.get(name)
            # A trial that ended counts, wherever one of the same name broke off.
            if known is None or known.broke_off or not record.broke_off:
                self.records[name] = record
        self.errors |= other.errors

    def missing(self, asked: Iterable[Name]) -> dict[Name, str]:
        """Return the trials without a record, and why."""
        return {name: self.errors.get(name, "was not begun") for name in asked if name not in self.records}


def merged_options(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the options of the experiment whose parts these are.

    Lists are united, in their order. Raises OptionError if the parts differ in a single value.
    """
    merged: dict[str, Any] = {}
    for name in found[0]:
        values = [one[name] for one in found]
        if isinstance(values[0], list | tuple):
            merged[name] = tuple(dict.fromkeys(one for value in values for one in value))
        elif len(set(values)) > 1:
            given = ", ".join(map(str, sorted(set(values))))
            raise OptionError(f"these are parts of several experiments ({name} is {given}); merge those of one")
        else:
            merged[name] = values[0]
    return merged
