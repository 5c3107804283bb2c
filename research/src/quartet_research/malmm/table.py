"""Tables of episodes in the published form, the published figures beside them."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from quartet_benchmarks.prices import SPEAKERS
from quartet_benchmarks.result import Rate, percentile, wilson
from quartet_research.harness.tables import grouped, success_cells
from quartet_research.malmm.published import published
from quartet_research.malmm.trial import Trial
from quartet_simulation.tabletop.tasks import STACK_COUNTS

_BAR = 20
"""Characters of a bar that stands for all episodes."""


@dataclass(frozen=True)
class Entry:
    """An episode and what it was."""

    task: str
    variation: int
    seed: int
    model: str
    """Model that answered; for reference speakers, with their fault rate."""
    framework: str
    feedback: bool
    trial: Trial

    @property
    def rate(self) -> float | None:
        """Fault rate of the reference speakers, None for a language model."""
        name, _, rate = self.model.rpartition("/")
        return float(rate) if name == SPEAKERS else None

    @property
    def kind(self) -> tuple[str, bool, str]:
        """What is compared: model, feedback and framework."""
        return self.model, self.feedback, self.framework


def headline(entries: Sequence[Entry], observation: str = "state") -> dict[str, float | Rate]:
    """Return the success of each framework and model, false successes, and the wall time of an episode [s]."""
    metrics: dict[str, float | Rate] = {}
    several = len({entry.model for entry in entries}) > 1
    for (framework, model), own in grouped(entries, lambda entry: (entry.framework, entry.model)).items():
        of = "vision_success_rate" if observation == "vision" else "success_rate"
        suffix = f" ({model})" if several else ""
        metrics[f"{of}_{framework}{suffix}"] = Rate(sum(entry.trial.succeeded for entry in own), len(own))
    metrics["false_successes"] = sum(entry.trial.false_success for entry in entries)
    metrics["episode_wall_s_p50"] = percentile([entry.trial.wall_s for entry in entries if entry.trial.wall_s], 0.5)
    return metrics


def task_rows(entries: Sequence[Entry], observation: str = "state") -> list[dict[str, Any]]:
    """Return a row for each model, feedback, framework and task, and one for all tasks of each."""
    rows: list[dict[str, Any]] = []
    for (model, feedback, framework), own in grouped(entries, lambda entry: entry.kind).items():
        tasks = grouped(own, lambda entry: entry.task)
        for task, same in tasks.items():
            paper = published(task, framework, feedback=feedback, observation=observation)
            rows.append(_row(model, framework, feedback, task, same, paper))
        if len(tasks) > 1:
            paper = _mean_published(framework, tasks, feedback, observation)
            rows.append(_row(model, framework, feedback, "all", own, paper))
    return rows


def stack_rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the success of stacking by the number of blocks; the paper's Figure 5 has it without numbers."""
    stacks = [entry for entry in entries if entry.task == "stack-blocks"]
    groups = grouped(stacks, lambda entry: (*entry.kind, STACK_COUNTS[entry.variation % len(STACK_COUNTS)]))
    return [
        _row(model, framework, feedback, f"stack-blocks, {count} blocks", own, None)
        for (model, feedback, framework, count), own in sorted(groups.items())
    ]


def rate_lines(entries: Sequence[Entry]) -> list[str]:
    """Return the success over all tasks against the fault rate of the reference speakers, as lines of a bar chart.

    None where there is one rate alone: then there is nothing to compare.
    """
    groups = grouped(
        [entry for entry in entries if entry.rate is not None],
        lambda entry: (not entry.feedback, entry.framework, entry.rate),
    )
    if len({rate for _, _, rate in groups}) < 2:
        return []
    lines = ["Success by the fault rate p, all tasks together, with 95 % intervals:"]
    for (silent, framework, rate), own in groups.items():
        done = sum(entry.trial.succeeded for entry in own)
        false = sum(entry.trial.false_success for entry in own)
        low, high = wilson(done, len(own))
        bar = "#" * round(_BAR * done / len(own))
        lines.append(
            f"{framework:5} {'without' if silent else 'with'} feedback, p {rate:<4g} {bar:.<{_BAR}} {done}/{len(own)} "
            f"({100 * low:.0f} to {100 * high:.0f} %), {false} false"
        )
    return lines


def detail(entry: Entry) -> dict[str, Any]:
    """Return the episode for the JSON."""
    about = {name: getattr(entry, name) for name in ("task", "variation", "seed", "model", "framework", "feedback")}
    return {**about, **asdict(entry.trial), "false_success": entry.trial.false_success}


def _row(
    model: str, framework: str, feedback: bool, task: str, entries: Sequence[Entry], paper: float | None
) -> dict[str, Any]:
    trials = [entry.trial for entry in entries]
    failed = Counter(trial.ending for trial in trials if not trial.succeeded)
    return {
        "model": model,
        "framework": framework,
        "feedback": "on" if feedback else "off",
        "task": task,
        **success_cells(trial.succeeded for trial in trials),
        "false": sum(trial.false_success for trial in trials),
        "calls": round(fmean(trial.calls for trial in trials), 1),
        "programs": round(fmean(trial.executions for trial in trials), 1),
        "wall s p50": round(percentile([trial.wall_s for trial in trials if trial.wall_s], 0.5), 1),
        "failed and": ", ".join(f"{count} {ending}" for ending, count in failed.most_common()),
        "GPT-4 in the paper": "" if paper is None else f"{paper:g} %",
    }


def _mean_published(framework: str, tasks: Iterable[str], feedback: bool, observation: str) -> float | None:
    found = [published(task, framework, feedback=feedback, observation=observation) for task in tasks]
    known = [value for value in found if value is not None]
    return round(fmean(known), 2) if len(known) == len(found) and not math.isnan(fmean(known)) else None
