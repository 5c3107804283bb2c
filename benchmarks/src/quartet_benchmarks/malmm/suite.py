"""`quartet bench malmm`: one, two or three agents let an arm do the nine tasks of the MALMM paper at a table."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.extras import require_inspect
from quartet_benchmarks.harness.speakers import SPEAKERS
from quartet_benchmarks.malmm.options import FEEDBACK, Experiment, read_experiment
from quartet_benchmarks.malmm.speakers import ReferenceModel
from quartet_benchmarks.malmm.table import Entry, detail, headline, rate_lines, stack_rows, task_rows
from quartet_benchmarks.malmm.trial import play
from quartet_benchmarks.result import BenchParameters, BenchResult
from quartet_scripted_model.programs import Rates
from quartet_simulation.tabletop import Tabletop

FOLDER = Path("runs/malmm")
RUNNING = ("price", "budget_usd", "token_limit", "time_limit", "out", "shard")
"""Options of how language models are run."""
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
    if running and not experiment.language_models:
        raise OptionError(f"{', '.join(running)}: the reference speakers need no such option; give a --model")
    entries: list[Entry] = []
    for model in experiment.speakers:
        for framework in experiment.framework:
            for feedback in experiment.feedback:
                entries += _play_all(experiment, model, framework, FEEDBACK[feedback], parameters)
    unfinished = 0
    if experiment.language_models:
        found, unfinished = _ask_models(experiment, running, parameters)
        entries += found
    return _tell(experiment, entries, unfinished)


def _merge(folders: Sequence[Path], others: Sequence[str]) -> BenchResult:
    """Return the tables of all episodes below the folders of the shards of an experiment."""
    if others:
        raise OptionError(f"{', '.join(others)}: --merge puts together what was played; it takes no other option")
    require_inspect("malmm")
    from quartet_benchmarks.malmm.experiment.run import read_episodes

    return _tell(*read_episodes([Path(folder) for folder in folders], whole=True))


def _tell(experiment: Experiment, entries: list[Entry], unfinished: int) -> BenchResult:
    if not entries:
        raise OptionError(f"none of {unfinished} episodes has ended; `inspect view` shows why")
    result = make_result(experiment, entries)
    if unfinished:
        result.notes.append(f"{unfinished} episodes have not ended and are in no figure; run it again")
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
    """Return the episodes of the language models and how many have not ended."""
    require_inspect("malmm")
    from quartet_benchmarks.harness.prices import read_price
    from quartet_benchmarks.harness.run import Limits
    from quartet_benchmarks.malmm.experiment.run import run_episodes

    limits = Limits(
        budget_usd=running.get("budget_usd"),
        price=read_price(running.get("price")),
        token_limit=running.get("token_limit"),
        time_limit_s=running.get("time_limit"),
    )
    return run_episodes(
        experiment,
        Path(running.get("out") or FOLDER),
        shard=running.get("shard") or "1/1",
        limits=limits,
        progress=parameters.progress,
    )


def _play_all(
    experiment: Experiment, model: str, framework: str, feedback: bool, parameters: BenchParameters
) -> list[Entry]:
    rate = float(model.rpartition("/")[2])
    entries: list[Entry] = []
    for task, variation, seed in experiment.instances:
        world = Tabletop.generate(task, variation, seed)
        speakers = ReferenceModel(Rates.equal(rate), seed)
        trial = asyncio.run(
            play(world, framework, speakers, feedback=feedback, observation=experiment.observation, seed=seed)
        )
        entries.append(Entry(task, variation, seed, model, framework, feedback, trial))
        if entries[-1].seed == experiment.seed + experiment.episodes - 1:
            own = [entry for entry in entries if entry.task == task]
            done = sum(entry.trial.succeeded for entry in own)
            parameters.progress(f"{model}, {framework}, {task}: {done} of {len(own)}")
    return entries
