"""Tables of trials in the published form: success, steps, calls and tokens, as they are and by the best of a trial."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from quartet_benchmarks.result import Rate
from quartet_research.harness.tables import grouped, interval_text, success_cells
from quartet_research.planners.published import PUBLISHED, PUBLISHED_HISTORY
from quartet_research.planners.trial import Trial

FIGURES = ("steps", "calls", "tokens")
HISTORY_MODES = ("none", "state-action", "dialogue")


@dataclass(frozen=True)
class Entry:
    """A trial and what it was."""

    world: str
    robots: int
    seed: int
    model: str
    """Model that answered; for reference speakers, with their fault rate."""
    history: str
    team: str
    reference_steps: int
    trial: Trial

    @property
    def instance(self) -> tuple[str, int, int, str, str]:
        """World, robots, seed, model and history, which compared teams share."""
        return self.world, self.robots, self.seed, self.model, self.history


def success(entries: Iterable[Entry]) -> Rate:
    """Return how many of the trials succeeded."""
    found = [entry.trial.succeeded for entry in entries]
    return Rate(sum(found), len(found))


def headline(entries: Sequence[Entry]) -> dict[str, float | Rate]:
    """Return success and steps over the reference of each team."""
    metrics: dict[str, float | Rate] = {}
    for team, own in grouped(entries, lambda entry: entry.team).items():
        metrics[f"success_rate_{team}"] = success(own)
        ratios = [entry.trial.steps / max(1, entry.reference_steps) for entry in own if entry.trial.succeeded]
        metrics[f"steps_over_reference_{team}"] = fmean(ratios) if ratios else math.nan
    return metrics


def harness_ms_per_step(entries: Iterable[Entry]) -> float:
    """Return the time beside the model for each step of a world [ms]."""
    trials = [entry.trial for entry in entries]
    return 1e3 * sum(trial.harness_s for trial in trials) / max(1, sum(trial.steps for trial in trials))


def main_rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return a row for each world, model, history and team; failures count in the success only, as in the paper."""
    best = {
        (figure, instance): max(1, min(getattr(entry.trial, figure) for entry in same))
        for instance, same in grouped([e for e in entries if e.trial.succeeded], lambda entry: entry.instance).items()
        for figure in FIGURES
    }
    rows: list[dict[str, Any]] = []
    for (world, model, history, team), own in grouped(entries, _kind).items():
        row: dict[str, Any] = {"world": world, "model": model, "history": history, "team": team, **_success(own)}
        solved = [entry for entry in own if entry.trial.succeeded]
        for figure in FIGURES:
            row[figure] = _mean([getattr(entry.trial, figure) for entry in solved])
        for figure in FIGURES:
            ratios = [getattr(entry.trial, figure) / best[figure, entry.instance] for entry in solved]
            row[f"{figure} / best"] = _mean(ratios)
        reasons = Counter(entry.trial.reason.partition(":")[0] for entry in own if not entry.trial.succeeded)
        row["failed for"] = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        figures = PUBLISHED.get((world, team), ())
        row["GPT-4 in the paper"] = " / ".join("-" if figure is None else str(figure) for figure in figures)
        rows.append(row)
    return rows


def size_rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the success of each team by the number of robots."""
    groups = grouped(entries, lambda entry: (*_kind(entry), entry.robots))
    return [
        {"world": world, "model": model, "history": history, "team": team, "robots": robots, **_success(own)}
        for (world, model, history, team, robots), own in groups.items()
    ]


def history_rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the success of each team by what it remembers; nothing, where there is one kind of history only."""
    modes = [mode for mode in HISTORY_MODES if any(entry.history == mode for entry in entries)]
    if len(modes) < 2:
        return []
    rows: list[dict[str, Any]] = []
    for (world, model, team), own in grouped(entries, lambda entry: (entry.world, entry.model, entry.team)).items():
        row: dict[str, Any] = {"world": world, "model": model, "team": team}
        for mode in modes:
            rate = success(entry for entry in own if entry.history == mode)
            row[mode] = f"{rate.successes}/{rate.n}"
            row[f"{mode}, 95 %"] = interval_text(rate)
        row["GPT-4 in the paper"] = " / ".join(map(str, PUBLISHED_HISTORY.get(world, ()))) if team == "hmas2" else ""
        rows.append(row)
    return rows


def detail(entry: Entry) -> dict[str, Any]:
    """Return the trial for the JSON."""
    return {
        "world": entry.world,
        "robots": entry.robots,
        "seed": entry.seed,
        "model": entry.model,
        "history": entry.history,
        "team": entry.team,
        "reference_steps": entry.reference_steps,
        "succeeded": entry.trial.succeeded,
        "steps": entry.trial.steps,
        "calls": entry.trial.calls,
        "tokens": entry.trial.tokens,
        "reason": entry.trial.reason,
    }


def _kind(entry: Entry) -> tuple[str, str, str, str]:
    return entry.world, entry.model, entry.history, entry.team


def _success(entries: Sequence[Entry]) -> dict[str, str]:
    return success_cells(entry.trial.succeeded for entry in entries)


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 2) if values else None
