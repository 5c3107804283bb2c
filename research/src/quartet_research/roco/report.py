"""Tables of RoCo's trials, with the published figures."""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from quartet_benchmarks.result import BenchResult, Rate, percentile
from quartet_research.harness.study import Record, Report
from quartet_research.harness.tables import grouped, success_cells
from quartet_research.roco.options import Experiment
from quartet_research.roco.parts import PART_OF
from quartet_simulation.table_tasks import TASKS


def make_report(experiment: Experiment, records: Sequence[Record]) -> Report:
    """Return tables and notes of the trials."""
    groups = grouped(records, lambda one: (one.model, one.case.setting["task"], variant(one.case.setting)))
    metrics: dict[str, float | Rate] = {}
    for (model, task, team), own in groups.items():
        kinds = sum(other == task for _, other, _ in groups)
        suffix = f" ({model}, {team})" if kinds > 1 else ""
        metrics[f"success_rate_{task}{suffix}"] = Rate(sum(record.trial.succeeded for record in own), len(own))
    at_table = [record for record in records if record.case.setting["task"] in TASKS]
    trials = [record.trial for record in at_table]
    spent: dict[int, list[float]] = {}
    for record in at_table:
        if record.trial.plan_cpu_s:
            spent.setdefault(len(TASKS[record.case.setting["task"]].arms), []).extend(record.trial.plan_cpu_s)
    for arms, seconds in sorted(spent.items()):
        metrics[f"plan_cpu_s_p50_{arms}"] = percentile(seconds, 0.5)
        metrics[f"plan_cpu_s_p95_{arms}"] = percentile(seconds, 0.95)
    planned = sum(trial.steps - trial.no_plan for trial in trials)
    failed = sum(trial.not_executed for trial in trials)
    if planned and spent:
        metrics["arm_contacts"] = sum(trial.arm_contacts for trial in trials)
        metrics["plan_failures"] = Rate(failed, planned)
    parts = dict.fromkeys(PART_OF[task] for _, task, _ in groups)
    result = BenchResult(
        suite="roco",
        parameters={"trials": experiment.trials or "as in the paper", "seed": experiment.seed},
        metrics=metrics,
        rows=[_row(key, own) for key, own in groups.items()],
        details=[_detail(record) for record in records],
        notes=[note for part in parts for note in part.notes],
    )
    return Report(result, {})


def variant(setting: Any) -> str:
    """Return a mode and its ablations in words."""
    ablations = [f"no {name}" for name, off in (("history", "none"), ("feedback", "off")) if setting.get(name) == off]
    others = [value for name, value in setting.items() if name not in ("task", "history", "feedback")]
    return ", ".join([*others, *ablations])


def _row(key: tuple[str, str, str], records: Sequence[Record]) -> dict[str, Any]:
    model, task, team = key
    trials = [record.trial for record in records]
    solved = [trial.steps for trial in trials if trial.succeeded]
    failed = Counter(trial.reason.partition(":")[0] for trial in trials if not trial.succeeded)
    return {
        "task": task,
        "team": team,
        "model": model,
        **success_cells(trial.succeeded for trial in trials),
        "steps": round(fmean(solved), 1) if solved else None,
        "attempts": round(sum(trial.attempts for trial in trials) / max(1, sum(trial.steps for trial in trials)), 1),
        "calls": round(fmean(trial.calls for trial in trials), 1),
        "not executed": sum(trial.not_executed for trial in trials),
        "failed for": ", ".join(f"{count} {reason}" for reason, count in failed.most_common()),
        "in the paper": PART_OF[task].published.get((task, team), ""),
    }


def _detail(record: Record) -> dict[str, Any]:
    trial = {name: value for name, value in vars(record.trial).items() if name != "plan_cpu_s"}
    return {**record.case.setting, **record.case.instance, "model": record.model, **trial}
