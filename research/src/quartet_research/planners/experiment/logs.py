"""Reads the trials out of the logs of Inspect, of one run or of the shards of one."""

from collections.abc import Callable, Sequence
from pathlib import Path

from inspect_ai.log import EvalLog, EvalSampleSummary, read_eval_log_sample, read_eval_log_sample_summaries

from quartet_research.harness.shards import BROKE_OFF, each_log, require_whole, tokens_used
from quartet_research.planners.experiment.task import SCORER, TRIAL, reference_steps
from quartet_research.planners.options import HISTORY
from quartet_research.planners.table import Entry
from quartet_research.planners.trial import Trial
from quartet_teams import Plan

Key = tuple[str, int, int, str, str, str]


def read_trials(folders: Sequence[Path], *, whole: bool) -> tuple[list[Entry], dict[Key, str]]:
    """Return the trials of all logs below the folders, in one order, and the errors of those that were not begun.

    If a trial has several logs, since a run was resumed, the one that came to an end counts. A trial that broke off
    after an answer of the model counts as failed unless another log has its end.

    Args:
        folders: with logs in them or below.
        whole: every shard has to be there.

    Raises:
        OptionError: a folder has no logs, or a shard is missing.
    """
    entries: dict[Key, Entry] = {}
    errors: dict[Key, str] = {}
    shards: set[str] = set()
    for info, log in each_log(folders):
        shards.add(log.eval.task_args["shard"])
        errors |= {_key(log, str(name)): "was not begun" for name in log.eval.dataset.sample_ids or ()}
        for summary in read_eval_log_sample_summaries(info):
            key = _key(log, str(summary.id))
            if entry := _entry(key, summary) or entries.get(key) or _broken_off(key, summary):
                entries[key] = entry
            else:
                errors[key] = summary.error or "has not ended"
    if whole:
        require_whole(shards)
    for key in entries:
        errors.pop(key, None)
    return [entries[key] for key in sorted(entries)], errors


def read_plans(folders: Sequence[Path], chosen: Callable[[Entry], bool]) -> list[tuple[Entry, list[Plan]]]:
    """Return the chosen trials of all logs below the folders, in one order, with the plans that were carried out.

    Raises OptionError when a folder has no logs.
    """
    found: dict[Key, tuple[Entry, list[Plan]]] = {}
    for info, log in each_log(folders):
        for summary in read_eval_log_sample_summaries(info):
            entry = _entry(key := _key(log, str(summary.id)), summary)
            if entry and chosen(entry):
                sample = read_eval_log_sample(info, summary.id, summary.epoch, exclude_fields={"events", "messages"})
                # A trial that a limit of the run has ended has none.
                found[key] = entry, sample.store.get(TRIAL, {}).get("plans", [])
    return [found[key] for key in sorted(found)]


def _key(log: EvalLog, sample: str) -> Key:
    """Return what a sample of this id is, such as `boxnet1-4-0`."""
    world, robots, seed = sample.split("-")
    model = log.eval.model.removeprefix("openai-api/")
    arguments = log.eval.task_args
    return world, int(robots), int(seed), model, HISTORY[arguments["history"]].value, arguments["framework"]


def _broken_off(key: Key, summary: EvalSampleSummary) -> Entry | None:
    """Return a trial that began and broke off, as a failed one; None if the model answered nothing in it."""
    if not (tokens := tokens_used(summary)):
        return None
    reason = f"{BROKE_OFF}: {summary.error or 'has not ended'}"
    trial = Trial(succeeded=False, steps=0, calls=summary.turn_count or 0, tokens=tokens, reason=reason, harness_s=0.0)
    return Entry(*key[:5], key[5], reference_steps(*key[:3]), trial)


def _entry(key: Key, summary: EvalSampleSummary) -> Entry | None:
    """Return the trial of a sample; None when it has no end."""
    if summary.error is not None or not summary.scores:
        return None
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
    return Entry(*key[:5], key[5], int(told["reference_steps"]), trial)
