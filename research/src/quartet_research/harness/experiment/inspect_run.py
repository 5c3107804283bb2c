"""Runs a shard of an experiment on Inspect, after an estimate of what it costs."""

import asyncio
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from quartet_benchmarks.prices import FREE
from quartet_research.harness.estimate import Counted, Use, tell_cost
from quartet_research.harness.experiment.inspect_task import experiment as task_of
from quartet_research.harness.experiment.models import connect
from quartet_research.harness.experiment.tasks import Limits, run_tasks
from quartet_research.harness.shards import read_shard
from quartet_research.harness.study import Case, Experiment, Study, cases_of, language_models_of
from quartet_teams import count_tokens

DRAWN = ("seed", "variation")
"""Values of an instance that do not change what a trial costs."""


def run_on_inspect(
    study: Study,
    experiment: Experiment,
    folder: Path,
    *,
    shard: str,
    limits: Limits,
    progress: Callable[[str], None],
    environment: Mapping[str, str] = os.environ,
) -> None:
    """Run the trials of the language models of a shard that have no log in `folder` yet.

    Args:
        study: that is run.
        experiment: that is run.
        folder: of the logs and the amount spent.
        shard: number and count, such as `2/8`.
        limits: of money, tokens and time.
        progress: receives the estimated cost and the folder.
        environment: has QUARTET_GATEWAY_URL, QUARTET_GATEWAY_KEY and QUARTET_GATEWAY_GRANT for models of the gateway.

    Raises:
        OptionError: a shard, model or price that there is not, a model that costs money without a budget, or a folder
            of another experiment.
    """
    parts = cases_of(experiment, shard)
    models, prices = connect(language_models_of(experiment), environment, limits.price)
    if any(price != FREE for price in prices.values()):
        whole = [case for _, cases in experiment.parts for case in cases]
        _, count = read_shard(shard)
        tell_cost(asyncio.run(estimate(study, whole)), prices, count, limits.budget_usd, progress)
    progress(f"logs and tables in {folder}")
    tasks = [task_of(study.name, shard, **options) for options, _ in parts]
    run_tasks(tasks, models, prices, folder, limits)


async def estimate(study: Study, cases: Sequence[Case]) -> Use:
    """Return what one model uses, from one fault-free trial of each kind of case."""
    use = Use()
    for _, same in itertools.groupby(sorted(cases, key=_kind), key=_kind):
        first, *others = same
        speakers = Counted(study.speakers(0.0, first))
        await study.play(first, speakers, count_tokens)
        use = use.plus(speakers.use, 1 + len(others))
    return use


def _kind(case: Case) -> tuple[str, ...]:
    drawn = [str(value) for name, value in case.instance.items() if name not in DRAWN]
    return (*map(str, case.setting.values()), *drawn)
