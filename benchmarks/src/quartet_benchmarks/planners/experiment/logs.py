"""Reads the trials out of the logs of Inspect, of one run or of the shards of one."""

from collections.abc import Sequence
from pathlib import Path

from inspect_ai.log import EvalLog, EvalSampleSummary, list_eval_logs, read_eval_log, read_eval_log_sample_summaries

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.planners.experiment.task import SCORER
from quartet_benchmarks.planners.options import HISTORY
from quartet_benchmarks.planners.table import Entry
from quartet_benchmarks.planners.trial import Trial

Key = tuple[str, int, int, str, str, str]


def read_trials(folders: Sequence[Path], *, whole: bool) -> tuple[list[Entry], dict[Key, str]]:
    """Return the trials of all logs below the folders, in one order, and the errors of those that had no end.

    Where a trial has several logs, since a run was resumed, the one that came to an end counts.

    Args:
        folders: with logs in them or below.
        whole: every shard has to be there.

    Raises:
        OptionError: a folder has no logs, or a shard is missing.
    """
    entries: dict[Key, Entry] = {}
    errors: dict[Key, str] = {}
    shards: dict[int, set[int]] = {}
    for folder in folders:
        found = list_eval_logs(str(folder), descending=False) if folder.is_dir() else []
        if not found:
            raise OptionError(f"{folder} has no logs of a run")
        for info in found:
            log = read_eval_log(info, header_only=True)
            number, count = map(int, log.eval.task_args["shard"].split("/"))
            shards.setdefault(count, set()).add(number)
            for summary in read_eval_log_sample_summaries(info):
                _take(log, summary, entries, errors)
    for count, numbers in shards.items() if whole else ():
        if missing := sorted(set(range(1, count + 1)) - numbers):
            told = ", ".join(f"{number}/{count}" for number in missing)
            raise OptionError(f"these shards are missing: {told}; run them, or give their folders, too")
    for key in entries:
        errors.pop(key, None)
    return [entries[key] for key in sorted(entries)], errors


def _take(log: EvalLog, summary: EvalSampleSummary, entries: dict[Key, Entry], errors: dict[Key, str]) -> None:
    arguments, about = log.eval.task_args, summary.metadata
    model = log.eval.model.removeprefix("openai-api/")
    history = HISTORY[arguments["history"]].value
    key = (about["world"], about["robots"], about["seed"], model, history, arguments["framework"])
    if summary.error is not None or not summary.scores:
        errors[key] = summary.error or "has not ended"
        return
    score = summary.scores[SCORER]
    value, told = score.value, score.metadata or {}
    assert isinstance(value, dict)
    trial = Trial(
        succeeded=bool(value["success"]),
        steps=int(value["steps"] or 0),
        calls=int(value["calls"] or 0),
        tokens=int(value["tokens"] or 0),
        reason=score.explanation or "",
        harness_s=float(told["harness_s"]),
    )
    entries[key] = Entry(*key[:5], key[5], int(told["reference_steps"]), trial)
