"""`quartet bench planners`: CMAS, DMAS, HMAS-1 and HMAS-2 in four worlds, with speakers of equal fault rates."""

import asyncio
import time

from quartet_benchmarks.extras import require_inspect
from quartet_benchmarks.result import BenchParameters, BenchResult
from quartet_research.harness.speakers import speakers_name
from quartet_research.planners.grid_worlds import PUBLISHED_ROBOTS, WORLDS, make, reference
from quartet_research.planners.speakers import Faults, Speakers
from quartet_research.planners.table import Entry, detail, harness_ms_per_step, headline, main_rows
from quartet_research.planners.trial import play
from quartet_teams import TEAMS, HistoryMode, Window, make_team

TRIALS, SHORT_TRIALS = 10, 1
"""Instances of each world and size (the paper: 10)."""
FAULT_RATES, SHORT_FAULT_RATES = (0.0, 0.1, 0.2, 0.3), (0.0, 0.1)
SHORT_SIZES = 2
HISTORY = HistoryMode.STATE_ACTION.value
SPEED_ROBOTS = 32
SPEED_STEPS, SHORT_SPEED_STEPS = 2_000, 200


def run(parameters: BenchParameters) -> BenchResult:
    """Play every team in every world, size, fault rate and seed; with options, the experiment that they name.

    Raises:
        MissingExtraError: an experiment needs Inspect.
    """
    if parameters.options:
        return _experiment(parameters)
    trials = parameters.episodes or (SHORT_TRIALS if parameters.short else TRIALS)
    rates = SHORT_FAULT_RATES if parameters.short else FAULT_RATES
    sizes = {world: robots[:SHORT_SIZES] if parameters.short else robots for world, robots in PUBLISHED_ROBOTS.items()}
    entries: list[Entry] = []
    for world, robots in sizes.items():
        parameters.progress(f"{world} with {', '.join(map(str, robots))} robots, {trials} trials each")
        for size in robots:
            for seed in range(parameters.seed, parameters.seed + trials):
                entries += asyncio.run(_play_all(world, size, seed, rates))
    speed = {world: steps_per_s(world, SHORT_SPEED_STEPS if parameters.short else SPEED_STEPS) for world in WORLDS}
    return _result(parameters, trials, rates, entries, speed)


def _experiment(parameters: BenchParameters) -> BenchResult:
    require_inspect("planners")
    from quartet_research.planners.experiment import command

    return command.run(parameters)


async def _play_all(world: str, robots: int, seed: int, rates: tuple[float, ...]) -> list[Entry]:
    steps = reference(make(world, robots, seed)).steps
    entries: list[Entry] = []
    for rate in rates:
        for name in TEAMS:
            speakers = Speakers(Faults.equal(rate), seed=seed)
            trial = await play(make(world, robots, seed), make_team(name, world), speakers, Window())
            entries.append(Entry(world, robots, seed, speakers_name(rate), HISTORY, name, steps, trial))
    return entries


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


def _result(
    parameters: BenchParameters, trials: int, rates: tuple[float, ...], entries: list[Entry], speed: dict[str, float]
) -> BenchResult:
    metrics = headline([entry for entry in entries if entry.model == speakers_name(0.0)])
    metrics["env_steps_per_s_min"] = min(speed.values())
    metrics["harness_ms_per_step"] = harness_ms_per_step(entries)
    return BenchResult(
        suite="planners",
        parameters={"seed": parameters.seed, "trials": trials, "fault rates": ", ".join(map(str, rates))},
        metrics=metrics,
        rows=main_rows(entries),
        details=[detail(entry) for entry in entries],
        notes=[
            "Reference speakers by rules, not language models; the published figures are GPT-4's and stand beside for "
            "their form only.",
            "Headline metrics are those without faults. Steps, calls and tokens are means of successful trials; "
            "'/ best' divides them by the best team of the same trial first, as the paper does.",
        ],
    )
