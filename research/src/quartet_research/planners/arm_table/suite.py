"""`quartet bench armtable`: the four teams at a table with three and six arms, with reference speakers."""

import asyncio
from typing import Any

from quartet_benchmarks.result import BenchParameters, BenchResult, Rate
from quartet_research.planners.arm_table.layout import ARM_COUNTS
from quartet_research.planners.arm_table.reference import good_step, lower_bound
from quartet_research.planners.arm_table.world import ArmTable
from quartet_research.planners.grid_worlds import World
from quartet_research.planners.speakers import Faults, Speakers, variant_of
from quartet_research.planners.trial import Trial, play
from quartet_teams import TEAMS, Window, make_team

TRIALS, SHORT_TRIALS = 10, 1
"""Instances of each number of arms."""
FAULT_RATES = (0.0, 0.2)


class TableSpeakers(Speakers):
    """Reference speakers that know the table. What they know is what the prompt tells."""

    def _world(self, rules: str) -> type[World]:
        return ArmTable if rules == ArmTable.rules else super()._world(rules)

    def _best(self, world: World, history: str) -> dict[str, str]:
        if isinstance(world, ArmTable):
            return good_step(world, variant_of(history))
        return super()._best(world, history)


def run(parameters: BenchParameters) -> BenchResult:
    """Play every team, number of arms, fault rate and seed; with `short` three arms, one seed and no faults."""
    trials = parameters.episodes or (SHORT_TRIALS if parameters.short else TRIALS)
    rates = FAULT_RATES[:1] if parameters.short else FAULT_RATES
    arms_of = ARM_COUNTS[:1] if parameters.short else ARM_COUNTS
    found: dict[tuple[int, float, str], list[tuple[int, Trial]]] = {}
    for arms in arms_of:
        for seed in range(parameters.seed, parameters.seed + trials):
            parameters.progress(f"{arms} arms, instance {seed}")
            for rate in rates:
                for team in TEAMS:
                    found.setdefault((arms, rate, team), []).append(_play(arms, seed, rate, team))
    fault_free = [entry for (_, rate, _), entries in found.items() if rate == 0 for entry in entries]
    ratios = [trial.steps / bound for bound, trial in fault_free if trial.succeeded]
    return BenchResult(
        suite="armtable",
        parameters={"seed": parameters.seed, "trials": trials, "fault rates": ", ".join(map(str, rates))},
        metrics={
            "success_rate": Rate(sum(trial.succeeded for _, trial in fault_free), len(fault_free)),
            "steps_over_bound": sum(ratios) / len(ratios) if ratios else float("nan"),
            "arm_contacts": sum(
                trial.reason.startswith("collision") for entries in found.values() for _, trial in entries
            ),
        },
        rows=[_row(key, entries) for key, entries in found.items()],
        details=[
            {"arms": arms, "faults": rate, "team": team, "bound": bound, **vars(trial)}
            for (arms, rate, team), entries in found.items()
            for bound, trial in entries
        ],
        notes=[
            "Reference speakers by rules, not language models. The bound on steps is the number of moves of the box "
            "that needs most, or of all moves over all arms: often no plan reaches it, since arms must not meet.",
            "steps_over_bound is the mean of successful trials without faults; arm_contacts are of all trials.",
        ],
    )


def _play(arms: int, seed: int, rate: float, team: str) -> tuple[int, Trial]:
    world = ArmTable.generate(arms, seed)
    speakers = TableSpeakers(Faults.equal(rate), seed=seed)
    return lower_bound(world), asyncio.run(play(world, make_team(team, world.name), speakers, Window()))


def _row(key: tuple[int, float, str], entries: list[tuple[int, Trial]]) -> dict[str, Any]:
    arms, rate, team = key
    good = [trial for _, trial in entries if trial.succeeded]
    reasons = sorted({trial.reason.split(":")[0] for _, trial in entries if not trial.succeeded})

    def mean(values: list[int]) -> float | None:
        return sum(values) / len(values) if values else None

    return {
        "arms": arms,
        "faults": rate,
        "team": team,
        "success": f"{len(good)}/{len(entries)}",
        "steps": mean([trial.steps for trial in good]),
        "calls": mean([trial.calls for trial in good]),
        "tokens": mean([trial.tokens for trial in good]),
        "failures": ", ".join(reasons),
    }
