"""Reads trials from the logs of Inspect, of one run or of the shards of one."""

from collections.abc import Iterator
from pathlib import Path

from inspect_ai.log import (
    EvalLog,
    EvalLogInfo,
    EvalSampleSummary,
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample,
    read_eval_log_sample_summaries,
)

from quartet_research.harness.experiment.inspect_task import LIMIT, TRIAL, case_of
from quartet_research.harness.experiment.trials import Trials
from quartet_research.harness.shards import BROKE_OFF
from quartet_research.harness.study import Record, Study, load_study, logged_name


def each_log(folder: Path) -> Iterator[tuple[EvalLogInfo, EvalLog]]:
    """Yield the logs below a folder, oldest first, with their headers."""
    for info in list_eval_logs(str(folder), descending=False) if folder.is_dir() else []:
        yield info, read_eval_log(info, header_only=True)


def read_logs(folder: Path) -> Trials:
    """Return the trials of all logs below a folder.

    If a trial has several logs, since a run was resumed, the one that came to an end counts. A trial that broke off
    after an answer of the model counts as failed unless another log has its end.
    """
    found = Trials()
    for info, log in each_log(folder):
        options = dict(log.eval.task_args)
        study, shard = load_study(options.pop("study")), options.pop("shard", "1/1")
        model = _model_of(log)
        one = Trials(study.name, [options], [shard])
        for summary in read_eval_log_sample_summaries(info):
            name = (model, str(summary.id))
            if record := _ended(study, model, info, summary) or _broken_off(study, model, summary):
                one.records[name] = record
            else:
                one.errors[name] = summary.error or "has not ended"
        found.add(one)
    return found


def _model_of(log: EvalLog) -> str:
    return logged_name(log.eval.model)


def _ended(study: Study, model: str, info: EvalLogInfo, summary: EvalSampleSummary) -> Record | None:
    """Return the trial of a sample; None if it has no end."""
    if summary.error is not None or not summary.scores:
        return None
    case = case_of(summary.metadata)
    sample = read_eval_log_sample(info, summary.id, summary.epoch, exclude_fields={"events", "messages"})
    if TRIAL in sample.store:
        return Record(model, case, study.trial_of(sample.store[TRIAL]))
    return Record(model, case, study.broken_off(case, LIMIT, summary.turn_count or 0, _tokens(summary)))


def _broken_off(study: Study, model: str, summary: EvalSampleSummary) -> Record | None:
    """Return a trial that began and broke off, as a failed one; None if the model answered nothing in it."""
    tokens = _tokens(summary)
    if not tokens and not summary.turn_count:
        return None
    case = case_of(summary.metadata)
    error = summary.error or "has not ended"
    trial = study.broken_off(case, f"{BROKE_OFF}: {error}", summary.turn_count or 0, tokens)
    return Record(model, case, trial, broke_off=error)


def _tokens(summary: EvalSampleSummary) -> int:
    return sum(usage.total_tokens for usage in summary.model_usage.values())
