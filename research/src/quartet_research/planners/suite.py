"""`quartet bench planners`: CMAS, DMAS, HMAS-1 and HMAS-2 in four worlds, with speakers of equal fault rates."""

import time
from pathlib import Path

from quartet_benchmarks.result import BenchParameters, BenchResult
from quartet_research.harness import experiment
from quartet_research.harness.experiment.command import SPEAKERS_NOTE, WHOLE, play
from quartet_research.harness.speakers import speakers_name
from quartet_research.planners.grid_worlds import PUBLISHED_ROBOTS, WORLDS, make, reference
from quartet_research.planners.options import Experiment
from quartet_research.planners.replays import draw_trials
from quartet_research.planners.study import STUDY, entry_of
from quartet_research.planners.table import detail, harness_ms_per_step, headline, main_rows

TRIALS, SHORT_TRIALS = 10, 1
"""Instances of each world and size (the paper: 10)."""
FAULT_RATES, SHORT_FAULT_RATES = (0.0, 0.1, 0.2, 0.3), (0.0, 0.1)
SHORT_SIZES = 2
SPEED_ROBOTS = 32
SPEED_STEPS, SHORT_SPEED_STEPS = 2_000, 200


def run(parameters: BenchParameters) -> BenchResult:
    """Play every team in every world, size, fault rate and seed; with options, the experiment that they name.

    Raises:
        OptionError, MissingExtraError.
    """
    options = {"trials": parameters.episodes, **parameters.options}
    if folder := options.pop("replay", None):
        out = options.pop("out", None)
        return draw_trials(Path(folder), options, out and Path(out), parameters.progress)
    if parameters.options:
        return experiment.run(STUDY, parameters, options)
    trials = parameters.episodes or (SHORT_TRIALS if parameters.short else TRIALS)
    rates = SHORT_FAULT_RATES if parameters.short else FAULT_RATES
    records = []
    for world, robots in PUBLISHED_ROBOTS.items():
        sizes = robots[:SHORT_SIZES] if parameters.short else robots
        asked = Experiment(suite=(world,), robots=sizes, trials=trials, seed=parameters.seed, p_fault=rates)
        records += play(STUDY, asked, WHOLE, None, parameters.progress)
    entries = [entry_of(record) for record in records]
    metrics = headline([entry for entry in entries if entry.model == speakers_name(0.0)])
    steps = SHORT_SPEED_STEPS if parameters.short else SPEED_STEPS
    metrics["env_steps_per_s_min"] = min(steps_per_s(world, steps) for world in WORLDS)
    metrics["harness_ms_per_step"] = harness_ms_per_step(entries)
    return BenchResult(
        suite="planners",
        parameters={"seed": parameters.seed, "trials": trials, "fault rates": ", ".join(map(str, rates))},
        metrics=metrics,
        rows=main_rows(entries),
        details=[detail(entry) for entry in entries],
        notes=[
            f"{SPEAKERS_NOTE} The published figures are GPT-4's and are printed for comparison of the form only.",
            "Headline metrics are those without faults. Steps, calls and tokens are means of successful trials; "
            "'/ best' divides them by the best team of the same trial first, as the paper does.",
        ],
    )


def steps_per_s(world: str, steps: int) -> float:
    """Return the steps of an environment per second of processor time, checks of the plans included, at 32 robots."""
    instance = make(world, SPEED_ROBOTS, seed=0)
    plans = list(reference(instance, tries=1).plans)
    played, spent = 0, 0.0
    while played < steps:
        episode = instance.copy()
        episode.step_limit = len(plans)
        began = time.process_time()
        for plan in plans:
            episode.step(plan)
        spent += time.process_time() - began
        played += len(plans)
    return played / spent
