"""`quartet bench planners`: CMAS, DMAS, HMAS-1 and HMAS-2 in four worlds, with speakers of equal fault rates."""

import asyncio
import math
import time
from collections import Counter
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from quartet_grid_worlds import PUBLISHED_ROBOTS, WORLDS, make, reference
from quartet_teams import TEAMS, Window, make_team

from quartet_benchmarks.planners.speakers import Faults, Speakers
from quartet_benchmarks.planners.trial import Trial, play
from quartet_benchmarks.result import BenchParameters, BenchResult, Rate

TRIALS, SHORT_TRIALS = 10, 1
"""Instances of each world and size (the paper: 10)."""
FAULT_RATES, SHORT_FAULT_RATES = (0.0, 0.1, 0.2, 0.3), (0.0, 0.1)
SHORT_SIZES = 2
SPEED_ROBOTS = 32
SPEED_STEPS, SHORT_SPEED_STEPS = 2_000, 200
PUBLISHED = {
    ("boxnet1", "dmas"): (25.0, 2.25, 16.00, 48.56),
    ("boxnet1", "hmas1"): (52.5, 1.58, 5.06, 13.80),
    ("boxnet1", "cmas"): (75.0, 1.92, 1.89, 4.09),
    ("boxnet1", "hmas2"): (82.5, 1.33, 4.62, 9.00),
    ("boxnet2", "dmas"): (0.0, None, None, None),
    ("boxnet2", "hmas1"): (7.5, 1.38, 8.24, 9.32),
    ("boxnet2", "cmas"): (27.5, 1.22, 1.00, 1.00),
    ("boxnet2", "hmas2"): (57.5, 1.21, 3.35, 5.22),
    ("warehouse", "dmas"): (0.0, None, None, None),
    ("warehouse", "hmas1"): (5.0, 1.62, 8.52, 14.02),
    ("warehouse", "cmas"): (15.0, 1.73, 1.00, 1.00),
    ("warehouse", "hmas2"): (62.5, 1.16, 5.48, 9.21),
    ("boxlift", "dmas"): (52.5, 1.42, 37.13, 50.34),
    ("boxlift", "hmas1"): (67.5, 1.33, 18.99, 24.54),
    ("boxlift", "cmas"): (90.0, 1.99, 1.00, 1.00),
    ("boxlift", "hmas2"): (100.0, 1.11, 14.90, 21.52),
}
"""Success [%], steps, API calls and tokens, each divided by the best team of that trial; GPT-4 (Chen et al. 2024)."""


@dataclass(frozen=True)
class Entry:
    """A trial and what it was."""

    world: str
    robots: int
    seed: int
    fault_rate: float
    team: str
    reference_steps: int
    trial: Trial


def run(parameters: BenchParameters) -> BenchResult:
    """Play every team in every world, size, fault rate and seed."""
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


async def _play_all(world: str, robots: int, seed: int, rates: tuple[float, ...]) -> list[Entry]:
    steps = reference(make(world, robots, seed)).steps
    entries: list[Entry] = []
    for rate in rates:
        for name in TEAMS:
            speakers = Speakers(Faults(rate, rate, rate / 2, rate / 2), seed=seed)
            trial = await play(make(world, robots, seed), make_team(name, world), speakers, Window())
            entries.append(Entry(world, robots, seed, rate, name, steps, trial))
    return entries


def steps_per_s(world: str, steps: int) -> float:
    """Return the steps of an environment per second and core, plans and their checks included, at 32 robots."""
    instance = make(world, SPEED_ROBOTS, seed=0)
    plans = list(reference(instance, tries=1).plans)
    played, spent = 0, 0.0
    while played < steps:
        episode = instance.copy()
        episode.step_limit = len(plans)
        began = time.perf_counter()
        for plan in plans:
            episode.step(plan)
        spent += time.perf_counter() - began
        played += len(plans)
    return played / spent


def _result(
    parameters: BenchParameters, trials: int, rates: tuple[float, ...], entries: list[Entry], speed: dict[str, float]
) -> BenchResult:
    metrics: dict[str, float | Rate] = {}
    sound = [entry for entry in entries if entry.fault_rate == 0]
    for name in TEAMS:
        own = [entry for entry in sound if entry.team == name]
        metrics[f"success_rate_{name}"] = Rate(sum(entry.trial.succeeded for entry in own), len(own))
        ratios = [entry.trial.steps / max(1, entry.reference_steps) for entry in own if entry.trial.succeeded]
        metrics[f"steps_over_reference_{name}"] = fmean(ratios) if ratios else math.nan
    metrics["env_steps_per_s_min"] = min(speed.values())
    metrics["harness_ms_per_step"] = 1e3 * sum(e.trial.harness_s for e in entries) / sum(e.trial.steps for e in entries)
    rows = [row for world in WORLDS for rate in rates for name in TEAMS if (row := _row(world, rate, name, entries))]
    return BenchResult(
        suite="planners",
        parameters={"seed": parameters.seed, "trials": trials, "fault rates": ", ".join(map(str, rates))},
        metrics=metrics,
        rows=rows,
        details=[_detail(entry) for entry in entries],
        notes=[
            "Reference speakers by rules, not language models; the published figures are GPT-4's and stand beside for "
            "their form only.",
            "Headline metrics are those without faults. Steps, calls and tokens are of successful trials, divided by "
            "the best team of the same trial.",
        ],
    )


def _row(world: str, rate: float, name: str, entries: list[Entry]) -> dict[str, Any]:
    """Return success and the normalised figures of a team; failures count in the success only, as in the paper."""
    of_world = [entry for entry in entries if entry.world == world and entry.fault_rate == rate]
    own = [entry for entry in of_world if entry.team == name]
    success = Rate(sum(entry.trial.succeeded for entry in own), len(own))
    low, high = success.interval
    row: dict[str, Any] = {
        "world": world,
        "faults": rate,
        "team": name,
        "success": f"{success.successes}/{success.n}",
        "95 %": f"{100 * low:.0f} to {100 * high:.0f}",
    }
    for figure in ("steps", "calls", "tokens"):
        ratios: list[float] = []
        for entry in own:
            if entry.trial.succeeded:
                same = [e.trial for e in of_world if (e.robots, e.seed) == (entry.robots, entry.seed)]
                best = min(getattr(trial, figure) for trial in same if trial.succeeded)
                ratios.append(getattr(entry.trial, figure) / max(1, best))
        row[figure] = round(fmean(ratios), 2) if ratios else None
    reasons = Counter(entry.trial.reason.partition(":")[0] for entry in own if not entry.trial.succeeded)
    row["failed for"] = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    row["GPT-4 in the paper"] = " / ".join("" if figure is None else str(figure) for figure in PUBLISHED[world, name])
    return row


def _detail(entry: Entry) -> dict[str, Any]:
    return {
        "world": entry.world,
        "robots": entry.robots,
        "seed": entry.seed,
        "fault_rate": entry.fault_rate,
        "team": entry.team,
        "reference_steps": entry.reference_steps,
        "succeeded": entry.trial.succeeded,
        "steps": entry.trial.steps,
        "calls": entry.trial.calls,
        "tokens": entry.trial.tokens,
        "reason": entry.trial.reason,
    }
