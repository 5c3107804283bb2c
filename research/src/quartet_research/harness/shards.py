"""Parts of an experiment that run by themselves."""

import re
from collections.abc import Iterable
from pathlib import Path

from quartet_benchmarks.errors import OptionError

BROKE_OFF = "broke off"
"""How a trial ended in which the model or the budget failed; it counts as failed until a run completes it."""


def read_shard(text: str) -> tuple[int, int]:
    """Return number and count of a shard such as `2/8`. Raises OptionError."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise OptionError(f"shard '{text}': give it as i/n with i from 1 to n, such as 2/8")
    return int(match[1]), int(match[2])


def shard_folder(out: Path, shard: str) -> Path:
    """Return `out`, or its subfolder for a shard of several. Raises OptionError."""
    number, count = read_shard(shard)
    return out if count == 1 else out / f"shard-{number}-of-{count}"


def require_whole(shards: Iterable[str]) -> None:
    """Raise OptionError when shards such as `2/8` are not all that belong together."""
    numbers: dict[int, set[int]] = {}
    for number, count in map(read_shard, shards):
        numbers.setdefault(count, set()).add(number)
    for count, found in numbers.items():
        if missing := sorted(set(range(1, count + 1)) - found):
            told = ", ".join(f"{number}/{count}" for number in missing)
            raise OptionError(f"these shards are missing: {told}; run them, or give their folders, too")
