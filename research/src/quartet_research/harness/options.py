"""What the options of all experiments are checked for: names that there are not, models, and fault rates."""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.prices import SPEAKERS
from quartet_site import Fault

ExperimentT = TypeVar("ExperimentT")
NUMBERS = frozenset({"p_fault", "temperature"})
"""Options that are lists of numbers."""


def find_unknown(field: str, given: Sequence[str], valid: Collection[str]) -> Iterator[Fault]:
    """Yield place (field, and position in it) and text of each invalid name, or of an empty list."""
    if not given:
        yield (field,), f"{field} is empty; name at least one or leave it out; valid: {', '.join(valid)}"
    for at, one in enumerate(given):
        if one not in valid:
            yield (field, at), f"there is no {field} '{one}'; valid: {', '.join(valid)}"


def find_wrong_models(models: Sequence[str], rates: Sequence[float]) -> Iterator[Fault]:
    """Yield place and text of what is wrong with the models and the fault rates of the reference speakers."""
    if not models:
        yield ("model",), "model is empty; name at least one or leave it out"
    if not rates:
        yield ("p-fault",), "p-fault is empty; give at least one rate or leave it out"
    for at, rate in enumerate(rates):
        if not 0 <= rate <= 1:
            yield ("p-fault", at), f"p-fault {rate}: a rate is from 0 to 1"
    if any(rates) and SPEAKERS not in models:
        yield ("p-fault",), f"p-fault is of the reference speakers; add the model {SPEAKERS} or leave it out"


def names_in(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names of an option, each once; they may be separated by commas."""
    parts = [given] if isinstance(given, str) else given
    return tuple(dict.fromkeys(name.strip() for part in parts for name in part.split(",") if name.strip()))


def numbers_in(name: str, given: str | float | Iterable[str | float]) -> tuple[float, ...]:
    """Return the numbers of an option, each once; they may be separated by commas. Raises OptionError."""
    parts = [given] if isinstance(given, str | int | float) else given
    try:
        return tuple(dict.fromkeys(float(text) for part in parts for text in str(part).split(",")))
    except ValueError as error:
        raise OptionError(f"{name.replace('_', '-')} '{given}' is no number; give one, such as 0.1") from error


def read_options(
    kind: Callable[..., ExperimentT], suite: str, options: Mapping[str, Any], lists: Collection[str]
) -> ExperimentT:
    """Return the experiment of the given options.

    Args:
        kind: dataclass of the experiment.
        suite: its name, for errors.
        options: values by name; those that are None or empty are left out.
        lists: options that are lists of names.

    Raises:
        OptionError: an unknown option, or a value that the experiment refuses; it names the valid ones.
    """
    values = {name: value for name, value in options.items() if value not in (None, (), [])}
    valid = list(inspect.signature(kind).parameters)
    if unknown := [name for name in values if name not in valid]:
        raise OptionError(f"there is no option {', '.join(unknown)} of {suite}; valid: {', '.join(valid)}")
    for name in lists:
        if name in values:
            values[name] = names_in(values[name])
    for name in NUMBERS & values.keys():
        values[name] = numbers_in(name, values[name])
    return kind(**values)
