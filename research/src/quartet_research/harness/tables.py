"""Cells and groups of the tables of all studies."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from quartet_benchmarks.result import Rate

EntryT = TypeVar("EntryT")


def grouped(entries: Iterable[EntryT], key: Callable[[EntryT], Any]) -> dict[Any, list[EntryT]]:
    """Return the entries by their keys, in the order in which the keys first appear."""
    found: dict[Any, list[EntryT]] = {}
    for entry in entries:
        found.setdefault(key(entry), []).append(entry)
    return found


def interval_text(rate: Rate) -> str:
    """Return Wilson's 95 % interval [%] as text."""
    low, high = rate.interval
    return f"{100 * low:.0f} to {100 * high:.0f}"


def success_cells(outcomes: Iterable[bool]) -> dict[str, str]:
    """Return the cells `success` and `95 %` of trials that succeeded or failed."""
    found = list(outcomes)
    rate = Rate(sum(found), len(found))
    return {"success": f"{rate.successes}/{rate.n}", "95 %": interval_text(rate)}
