"""Runs the episodes as an eval set of Inspect, which resumes what was begun in the same folder, and reads them back."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inspect_ai import eval_set
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.malmm.experiment.task import MOST_TOKENS_OUT, malmm
from quartet_benchmarks.malmm.options import FEEDBACK, Experiment
from quartet_benchmarks.malmm.table import Entry
from quartet_benchmarks.malmm.trial import Trial
from quartet_benchmarks.planners.experiment.budget import FREE, Spending, use
from quartet_benchmarks.planners.experiment.run import LOGS, SPENT, Limits, connect


def run_episodes(
    experiment: Experiment, folder: Path, limits: Limits, environment: Mapping[str, str] = os.environ
) -> tuple[list[Entry], int]:
    """Run the episodes that have no log in `folder` yet; return all of them and how many have not ended.

    Raises:
        OptionError: a model or price that there is not, a model that costs money without a budget, or a folder of
            another experiment.
    """
    models, prices = connect(experiment.language_models, environment, limits.price)
    if limits.budget_usd is None and any(price != FREE for price in prices.values()):
        raise OptionError("these models cost money; give --budget-usd, which stops the run")
    folder.mkdir(parents=True, exist_ok=True)
    use(Spending(folder / SPENT, prices, limits.budget_usd, MOST_TOKENS_OUT))
    tasks = [
        malmm(framework, list(experiment.tasks), experiment.episodes, experiment.seed, feedback)
        for framework in experiment.framework
        for feedback in experiment.feedback
    ]
    try:
        eval_set(
            tasks,
            log_dir=str(folder / LOGS),
            model=models,
            # An episode that fails does not end the others; the next run of the same folder repeats it.
            fail_on_error=True,
            continue_on_fail=True,
            retry_attempts=0,
            retry_immediate=False,
            log_buffer=1,
            token_limit=limits.token_limit,
            time_limit=limits.time_limit_s,
            display="none",
            log_level="error",
            ctl_server=False,
        )
    except PrerequisiteError as error:
        raise OptionError(f"{folder}: {error}; another experiment needs another --out") from error
    entries = read_entries(folder)
    wanted = len(models) * len(tasks) * len(experiment.instances)
    return entries, wanted - len(entries)


def read_entries(folder: Path) -> list[Entry]:
    """Return the episodes of all logs below a folder that have come to an end, in one order."""
    found: dict[tuple[Any, ...], Entry] = {}
    for info in list_eval_logs(str(folder / LOGS), descending=False):
        log = read_eval_log(info, header_only=True)
        arguments = log.eval.task_args
        model = log.eval.model.removeprefix("openai-api/")
        for summary in read_eval_log_sample_summaries(info):
            if summary.error is not None or not summary.scores:
                continue
            task, variation, seed = str(summary.id).rsplit("-", 2)
            (score,) = summary.scores.values()
            trial = Trial(**(score.metadata or {})["trial"])
            feedback = FEEDBACK[arguments["feedback"]]
            key = (model, arguments["framework"], not feedback, task, int(seed))
            found[key] = Entry(task, int(variation), int(seed), model, arguments["framework"], feedback, trial)
    return [found[key] for key in sorted(found)]
