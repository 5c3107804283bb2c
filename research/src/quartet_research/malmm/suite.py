"""`quartet bench malmm`: one, two or three agents let an arm do the nine tasks of the MALMM paper at a table."""

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.extras import require_inspect
from quartet_benchmarks.prices import SPEAKERS
from quartet_benchmarks.result import BenchParameters, BenchResult
from quartet_research.harness.shards import BROKE_OFF
from quartet_research.malmm.kept import episodes_file, keep_episodes, kept_files, read_kept
from quartet_research.malmm.options import FEEDBACK, Experiment, read_experiment
from quartet_research.malmm.speakers import ReferenceModel
from quartet_research.malmm.table import Entry, detail, headline, rate_lines, stack_rows, task_rows
from quartet_research.malmm.trial import play
from quartet_scripted_model.programs import Rates
from quartet_simulation.tabletop import Tabletop

FOLDER = Path("runs/malmm")
WHOLE = "1/1"
COSTS = ("price", "budget_usd", "token_limit", "time_limit")
"""Options of what language models may cost."""
RUNNING = (*COSTS, "out", "shard")
"""Options of how an experiment is run."""
Instance = tuple[str, int, int]
"""Task, variation and seed."""
SHORT = {"framework": ("malmm",), "episodes": 1}
NOTES = [
    "Success is by ground truth; a false success is a team that claims to be done when it is not. 'calls' are of the "
    "model, 'programs' those that were run.",
    "Panda with published kinematics, geometry of our own; published extents and success volumes, layouts within the "
    "arm's reach. GPT-4 in the paper: gpt-4-turbo on RLBench's own scenes.",
]
VISION_NOTE = (
    "The state comes from the wrist's and the front camera with the errors of 'typical' sensors (docs/perception.md), "
    "through the perception server's own code; names, colours and sizes of what may stand there are given to it."
)
SPEAKERS_NOTE = f"{SPEAKERS} are rules with faults at the given rate, not language models."


def run(parameters: BenchParameters) -> BenchResult:
    """Play the episodes that the options name, or put shards together. Raises OptionError, MissingExtraError."""
    if merged := parameters.options.get("merge"):
        return _merge(merged, [name for name in parameters.options if name != "merge"])
    given = {"seed": parameters.seed, "episodes": parameters.episodes, **parameters.options}
    if parameters.short:
        given = SHORT | {name: value for name, value in given.items() if value is not None}
    running = {name: given.pop(name) for name in RUNNING if name in given}
    experiment = read_experiment(given)
    if experiment.language_models:
        entries, unfinished = _ask_models(experiment, running, parameters)
        return _tell(experiment, [*_play(experiment, experiment.instances, parameters), *entries], unfinished)
    if costs := [name for name in COSTS if name in running]:
        raise OptionError(f"{', '.join(costs)}: the reference speakers need no such option; give a --model")
    return _play_shard(experiment, running, parameters)


def _play_shard(experiment: Experiment, running: dict[str, Any], parameters: BenchParameters) -> BenchResult:
    """Play a shard, or all, with the reference speakers; keep it where a shard or a folder is asked for."""
    shard = running.get("shard") or WHOLE
    instances = experiment.part(shard)
    # Before it is played, so that a folder that cannot be written costs no episode.
    file = episodes_file(shard, Path(running.get("out") or FOLDER)) if running else None
    entries = _play(experiment, instances, parameters)
    result = make_result(experiment, entries)
    if file is not None:
        keep_episodes(experiment, shard, entries, file)
        result.parameters["shard"] = shard
        result.notes.append(f"kept in {file}; `quartet bench malmm --merge FOLDER` puts all shards together")
    return result


def _merge(folders: Sequence[Path], others: Sequence[str]) -> BenchResult:
    """Return the tables of all episodes below the folders of the shards of an experiment."""
    if others:
        raise OptionError(f"{', '.join(others)}: --merge puts together what was played; it takes no other option")
    if files := kept_files([Path(folder) for folder in folders]):
        return make_result(*read_kept(files))
    require_inspect("malmm")
    from quartet_research.malmm.experiment.run import read_episodes

    return _tell(*read_episodes([Path(folder) for folder in folders], whole=True))


def _tell(experiment: Experiment, entries: list[Entry], unfinished: int) -> BenchResult:
    if not entries:
        raise OptionError(f"none of {unfinished} episodes was begun; `inspect view` shows why")
    result = make_result(experiment, entries)
    if unfinished:
        result.notes.append(f"{unfinished} episodes were not begun and are in no figure; run it again")
    if broken := sum(entry.trial.ending == BROKE_OFF for entry in entries):
        result.notes.append(f"{broken} episodes {BROKE_OFF} and count as failed; run it again to complete them")
    return result


def make_result(experiment: Experiment, entries: list[Entry]) -> BenchResult:
    """Return the tables of the episodes."""
    return BenchResult(
        suite="malmm",
        parameters={
            "seed": experiment.seed,
            "episodes": experiment.episodes,
            "observation": experiment.observation,
            "feedback": ", ".join(experiment.feedback),
        },
        metrics=headline(entries, experiment.observation),
        rows=[*task_rows(entries, experiment.observation), *stack_rows(entries)],
        details=[detail(entry) for entry in entries],
        notes=[
            *NOTES,
            *([VISION_NOTE] if experiment.observation == "vision" else []),
            *rate_lines(entries),
            *([SPEAKERS_NOTE] if experiment.speakers else []),
        ],
    )


def _ask_models(
    experiment: Experiment, running: dict[str, Any], parameters: BenchParameters
) -> tuple[list[Entry], int]:
    """Return the episodes of the language models and how many were not begun."""
    require_inspect("malmm")
    from quartet_benchmarks.prices import read_price
    from quartet_research.harness.run import Limits
    from quartet_research.malmm.experiment.run import run_episodes

    limits = Limits(
        budget_usd=running.get("budget_usd"),
        price=read_price(running.get("price")),
        token_limit=running.get("token_limit"),
        time_limit_s=running.get("time_limit"),
    )
    return run_episodes(
        experiment,
        Path(running.get("out") or FOLDER),
        shard=running.get("shard") or WHOLE,
        limits=limits,
        progress=parameters.progress,
    )


def _play(experiment: Experiment, instances: Sequence[Instance], parameters: BenchParameters) -> list[Entry]:
    """Return the episodes of the reference speakers, one kind after the other."""
    entries: list[Entry] = []
    kinds = itertools.product(experiment.speakers, experiment.framework, experiment.feedback)
    for (model, framework, feedback), (task, of_task) in itertools.product(kinds, _by_task(instances)):
        own = [_play_one(experiment, instance, model, framework, FEEDBACK[feedback]) for instance in of_task]
        entries += own
        done = sum(entry.trial.succeeded for entry in own)
        parameters.progress(f"{model}, {framework}, {task}: {done} of {len(own)}")
    return entries


def _by_task(instances: Sequence[Instance]) -> list[tuple[str, list[Instance]]]:
    return [(task, list(own)) for task, own in itertools.groupby(instances, key=lambda instance: instance[0])]


def _play_one(experiment: Experiment, instance: Instance, model: str, framework: str, feedback: bool) -> Entry:
    task, variation, seed = instance
    world = Tabletop.generate(task, variation, seed)
    speakers = ReferenceModel(Rates.equal(float(model.rpartition("/")[2])), seed)
    observation = experiment.observation
    trial = asyncio.run(play(world, framework, speakers, feedback=feedback, observation=observation, seed=seed))
    return Entry(task, variation, seed, model, framework, feedback, trial)
