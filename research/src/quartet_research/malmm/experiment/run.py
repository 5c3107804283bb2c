"""Runs the episodes on Inspect, after an estimate of what they cost, and reads them back."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from inspect_ai.log import read_eval_log_sample_summaries

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.prices import FREE
from quartet_research.harness.estimate import Counted, Use, tell_cost
from quartet_research.harness.models import connect
from quartet_research.harness.run import Limits, run_tasks
from quartet_research.harness.shards import BROKE_OFF, each_log, read_shard, require_whole, shard_folder, tokens_used
from quartet_research.malmm.experiment.task import malmm
from quartet_research.malmm.options import FEEDBACK, Experiment
from quartet_research.malmm.speakers import ReferenceModel
from quartet_research.malmm.table import Entry
from quartet_research.malmm.trial import Trial, play
from quartet_simulation.tabletop import Tabletop

SAME = ("episodes", "seed", "observation")
"""Arguments in which the logs of one experiment agree."""


def run_episodes(
    experiment: Experiment,
    out: Path,
    *,
    shard: str,
    limits: Limits,
    progress: Callable[[str], None],
    environment: Mapping[str, str] = os.environ,
) -> tuple[list[Entry], int]:
    """Run the episodes of a shard that have no log yet; return all of it and how many were not begun.

    Args:
        experiment: what is run.
        out: folder of the run; a shard has its own below.
        shard: number and count, such as `2/8`.
        limits: of money, tokens and time.
        progress: is told the estimated cost.
        environment: has QUARTET_GATEWAY_URL, QUARTET_GATEWAY_KEY and QUARTET_GATEWAY_GRANT for models of the gateway.

    Raises:
        OptionError: a shard, model or price that there is not, a model that costs money without a budget, or a folder
            of another experiment.
    """
    _, count = read_shard(shard)
    experiment.part(shard)  # Raises where there are fewer episodes than shards.
    folder = shard_folder(out, shard)
    models, prices = connect(experiment.language_models, environment, limits.price)
    if any(price != FREE for price in prices.values()):
        tell_cost(asyncio.run(estimate(experiment)), prices, count, limits.budget_usd, progress)
    tasks = [
        malmm(
            framework,
            list(experiment.tasks),
            experiment.episodes,
            experiment.seed,
            feedback,
            experiment.observation,
            shard,
        )
        for framework in experiment.framework
        for feedback in experiment.feedback
    ]
    run_tasks(tasks, models, prices, folder, limits)
    _, entries, unfinished = read_episodes([folder], whole=False)
    return entries, unfinished


async def estimate(experiment: Experiment) -> Use:
    """Return what one model uses, from one fault-free episode of each task and kind, with the state as ground truth."""
    use = Use()
    first = {task: (variation, seed) for task, variation, seed in reversed(experiment.instances)}
    for task, (variation, seed) in first.items():
        for framework in experiment.framework:
            for feedback in experiment.feedback:
                speakers = Counted(ReferenceModel.faultless(seed))
                world = Tabletop.generate(task, variation, seed)
                await play(world, framework, speakers, feedback=FEEDBACK[feedback], seed=seed)
                use = use.plus(speakers.use, experiment.episodes)
    return use


def read_episodes(folders: Sequence[Path], *, whole: bool) -> tuple[Experiment, list[Entry], int]:
    """Return of all logs below the folders what experiment they are of, its episodes, and how many were not begun.

    An episode that broke off after an answer of the model counts as failed unless another log has its end.

    Args:
        folders: with logs in them or below.
        whole: every shard has to be there.

    Raises:
        OptionError: a folder has no logs, a shard is missing, or the logs are of several experiments.
    """
    found: dict[tuple[Any, ...], Entry] = {}
    asked: set[tuple[Any, ...]] = set()
    headers: list[dict[str, Any]] = []
    models: list[str] = []
    for info, log in each_log(folders):
        arguments = log.eval.task_args
        headers.append(arguments)
        model = log.eval.model.removeprefix("openai-api/")
        models.append(model)
        feedback = FEEDBACK[arguments["feedback"]]
        kind = (model, arguments["framework"], not feedback)
        asked |= {(*kind, *_episode(str(name))) for name in log.eval.dataset.sample_ids or ()}
        for summary in read_eval_log_sample_summaries(info):
            task, seed, variation = _episode(str(summary.id))
            key = (*kind, task, seed, variation)
            if summary.error is None and summary.scores:
                (score,) = summary.scores.values()
                trial = Trial(**(score.metadata or {})["trial"])
            elif key not in found and (tokens := tokens_used(summary)):
                trial = Trial(False, BROKE_OFF, summary.turn_count or 0, tokens, 0, 0, summary.total_time or 0.0)
            else:
                continue
            found[key] = Entry(task, variation, seed, model, arguments["framework"], feedback, trial)
    if len({tuple(one[name] for name in SAME) for one in headers}) > 1:
        raise OptionError(f"the logs in {', '.join(map(str, folders))} are of several experiments; merge those of one")
    if whole:
        require_whole(one["shard"] for one in headers)
    experiment = Experiment(
        framework=_each(one["framework"] for one in headers),
        tasks=_each(task for one in headers for task in one["tasks"]),
        feedback=_each(one["feedback"] for one in headers),
        model=_each(models),
        **{name: headers[0][name] for name in SAME},
    )
    return experiment, [found[key] for key in sorted(found)], len(asked - found.keys())


def _each(names: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _episode(sample: str) -> tuple[str, int, int]:
    """Return task, seed and variation of a sample of this id, such as `put-block-0-3`."""
    task, variation, seed = sample.rsplit("-", 2)
    return task, int(seed), int(variation)
