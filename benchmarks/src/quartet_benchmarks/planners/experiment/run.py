"""Runs an experiment, or a shard of it, after an estimate of what it costs."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from inspect_ai import Task

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.harness.budget import FREE, Price
from quartet_benchmarks.harness.models import connect
from quartet_benchmarks.harness.run import Limits, run_tasks
from quartet_benchmarks.planners.experiment.task import planners
from quartet_benchmarks.planners.options import HISTORY, Experiment, read_shard
from quartet_benchmarks.planners.speakers import Faults, Speakers
from quartet_benchmarks.planners.trial import play
from quartet_grid_worlds import make
from quartet_teams import Answer, Window, make_team

TOKENS_PER_ANSWER = 200
"""Of a language model, for the estimate: it says more than the reference speakers do."""


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
        _tell_cost(experiment, prices, count, limits.budget_usd, progress)
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


def _tell_cost(
    experiment: Experiment,
    prices: Mapping[str, Price],
    count: int,
    budget_usd: float | None,
    progress: Callable[[str], None],
) -> None:
    calls, tokens_in, tokens_out = asyncio.run(estimate(experiment))
    paid = [price for price in prices.values() if price != FREE]
    cost = sum(price.of(tokens_in, tokens_out) for price in paid) / count
    told = (
        f"about ${cost:.2f} for {calls * len(paid) / count:.0f} calls: what teams need that make no mistake, with "
        f"{TOKENS_PER_ANSWER} tokens an answer; a model that errs may need several times as much"
    )
    if budget_usd is None:
        raise OptionError(f"this costs money, {told}. Give --budget-usd, which stops the run")
    progress(f"estimated cost: {told}; the run stops at ${budget_usd:g}")


async def estimate(experiment: Experiment) -> tuple[int, int, int]:
    """Return calls, tokens in and tokens out for one model, from one fault-free trial of each kind."""
    calls = tokens_in = tokens_out = 0
    kinds = {(world, robots) for world, robots, _ in experiment.instances}
    for world, robots in sorted(kinds):
        for framework in experiment.framework:
            for history in experiment.history:
                speakers = _Counted(Speakers(Faults(), seed=0))
                instance = make(world, robots, experiment.seed)
                await play(instance, make_team(framework, world), speakers, Window(HISTORY[history]))
                calls += experiment.trials * speakers.calls
                tokens_in += experiment.trials * speakers.tokens_in
                tokens_out += experiment.trials * speakers.tokens_out
    return calls, tokens_in, tokens_out


class _Counted:
    def __init__(self, speakers: Speakers) -> None:
        self._speakers = speakers
        self.calls = self.tokens_in = self.tokens_out = 0

    async def __call__(self, participant: str, prompt: str) -> Answer:
        answer = await self._speakers(participant, prompt)
        self.calls += 1
        self.tokens_in += answer.tokens_in
        self.tokens_out += max(answer.tokens_out, TOKENS_PER_ANSWER)
        return answer
