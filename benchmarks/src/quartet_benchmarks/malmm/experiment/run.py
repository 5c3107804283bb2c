"""Runs the episodes on Inspect and reads them back."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.harness.budget import FREE
from quartet_benchmarks.harness.models import connect
from quartet_benchmarks.harness.run import LOGS, Limits, run_tasks
from quartet_benchmarks.malmm.experiment.task import malmm
from quartet_benchmarks.malmm.options import FEEDBACK, Experiment
from quartet_benchmarks.malmm.table import Entry
from quartet_benchmarks.malmm.trial import Trial


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
    tasks = [
        malmm(framework, list(experiment.tasks), experiment.episodes, experiment.seed, feedback, experiment.observation)
        for framework in experiment.framework
        for feedback in experiment.feedback
    ]
    run_tasks(tasks, models, prices, folder, limits)
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
