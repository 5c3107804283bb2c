"""Parts of an experiment that run by themselves, and the logs in which their trials come together again."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from quartet_benchmarks.errors import OptionError

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalLogInfo, EvalSampleSummary

BROKE_OFF = "broke off"
"""How a trial ended in which the model or the budget failed; it counts as failed until a run completes it."""


def read_shard(text: str) -> tuple[int, int]:
    """Return number and count of a shard such as `2/8`. Raises OptionError."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise OptionError(f"shard '{text}': give it as i/n with i from 1 to n, such as 2/8")
    return int(match[1]), int(match[2])


def shard_folder(out: Path, shard: str) -> Path:
    """Return the folder of a shard: one of its own below `out`, unless it is the whole. Raises OptionError."""
    number, count = read_shard(shard)
    return out if count == 1 else out / f"shard-{number}-of-{count}"


def each_log(folders: Sequence[Path]) -> "Iterator[tuple[EvalLogInfo, EvalLog]]":
    """Yield the logs of Inspect below the folders, oldest first, with their headers.

    Raises OptionError when a folder has none.
    """
    from inspect_ai.log import list_eval_logs, read_eval_log

    for folder in folders:
        found = list_eval_logs(str(folder), descending=False) if folder.is_dir() else []
        if not found:
            raise OptionError(f"{folder} has no logs of a run")
        for info in found:
            yield info, read_eval_log(info, header_only=True)


def require_whole(shards: Iterable[str]) -> None:
    """Raise OptionError when shards such as `2/8` are not all that belong together."""
    numbers: dict[int, set[int]] = {}
    for number, count in map(read_shard, shards):
        numbers.setdefault(count, set()).add(number)
    for count, found in numbers.items():
        if missing := sorted(set(range(1, count + 1)) - found):
            told = ", ".join(f"{number}/{count}" for number in missing)
            raise OptionError(f"these shards are missing: {told}; run them, or give their folders, too")


def tokens_used(summary: "EvalSampleSummary") -> int:
    """Return the tokens of the model's answers in a sample; 0 if it was not begun."""
    return sum(usage.total_tokens for usage in summary.model_usage.values())
