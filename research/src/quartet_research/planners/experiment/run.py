"""Runs an experiment, or a shard of it, after an estimate of what it costs."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from inspect_ai import Task

from quartet_benchmarks.prices import FREE
from quartet_research.harness.estimate import Counted, Use, tell_cost
from quartet_research.harness.models import connect
from quartet_research.harness.run import Limits, run_tasks
from quartet_research.harness.shards import read_shard
from quartet_research.planners.experiment.task import planners
from quartet_research.planners.grid_worlds import make
from quartet_research.planners.options import HISTORY, Experiment
from quartet_research.planners.speakers import Faults, Speakers
from quartet_research.planners.trial import play
from quartet_teams import Window, make_team


def run_trials(
    experiment: Experiment,
    folder: Path,
    *,
    shard: str,
    limits: Limits,
    progress: Callable[[str], None],
    environment: Mapping[str, str] = os.environ,
) -> None:
    """Run the trials of a shard that have no log in `folder` yet.

    Args:
        experiment: what is run.
        folder: of the logs and of what was spent.
        shard: number and count, such as `2/8`.
        limits: of money, tokens and time.
        progress: is told the estimated cost.
        environment: has QUARTET_GATEWAY_URL, QUARTET_GATEWAY_KEY and QUARTET_GATEWAY_GRANT for models of the gateway.

    Raises:
        OptionError: a shard, model or price that there is not, a model that costs money without a budget, or a folder
            of another experiment.
    """
    number, count = read_shard(shard)
    models, prices = connect(experiment.models, environment, limits.price)
    if any(price != FREE for price in prices.values()):
        tell_cost(asyncio.run(estimate(experiment)), prices, count, limits.budget_usd, progress)
    run_tasks(_tasks(experiment, number, count), models, prices, folder, limits)


def _tasks(experiment: Experiment, number: int, count: int) -> list[Task]:
    return [
        planners(
            framework, world, list(experiment.robots), experiment.trials, experiment.seed, history, f"{number}/{count}"
        )
        for world in experiment.suite
        for history in experiment.history
        for framework in experiment.framework
    ]


async def estimate(experiment: Experiment) -> Use:
    """Return what one model uses, from one fault-free trial of each kind."""
    use = Use()
    kinds = {(world, robots) for world, robots, _ in experiment.instances}
    for world, robots in sorted(kinds):
        for framework in experiment.framework:
            for history in experiment.history:
                speakers = Counted(Speakers(Faults(), seed=0))
                instance = make(world, robots, experiment.seed)
                await play(instance, make_team(framework, world), speakers, Window(HISTORY[history]))
                use = use.plus(speakers.use, experiment.trials)
    return use
