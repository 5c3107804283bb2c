"""Tables of RoCo's trials, with the published figures."""

import re
from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from quartet_benchmarks.result import BenchResult, Rate, percentile
from quartet_research.harness.study import Record, Report
from quartet_research.harness.tables import grouped, success_cells
from quartet_research.roco.options import Experiment
from quartet_research.roco.parts import PART_OF
from quartet_research.roco.properties import properties
from quartet_research.roco.table_part import WORLDS
from quartet_simulation.table_tasks import TASKS


def make_report(experiment: Experiment, records: Sequence[Record]) -> Report:
    """Return tables and notes of the trials."""
    cases = grouped({one.case.key: one.case for one in records}.values(), lambda case: PART_OF[case.setting["task"]])
    known = [*records, *(record for part, own in cases.items() for record in part.baselines(own))]
    groups = grouped(known, lambda one: (one.model, one.case.setting["task"], variant(one.case.setting)))
    metrics: dict[str, float | Rate] = {}
    for (model, task, team), own in groups.items():
        kinds = sum(other == task for _, other, _ in groups)
        suffix = f" ({model}, {team})" if kinds > 1 else ""
        metrics[f"success_rate_{task}{suffix}"] = Rate(sum(record.trial.succeeded for record in own), len(own))
    at_table = [record for record in records if record.case.setting["task"] in WORLDS]
    trials = [record.trial for record in at_table]
    spent: dict[int, list[float]] = {}
    for record in at_table:
        spent.setdefault(len(WORLDS[record.case.setting["task"]].arms), []).extend(record.trial.plan_cpu_s)
    for arms, seconds in sorted(spent.items()):
        for share in (50, 95) if seconds else ():
            metrics[f"plan_cpu_s_p{share}_{arms}"] = percentile(seconds, share / 100)
    planned = sum(trial.steps - trial.no_plan for trial in trials)
    failed = sum(trial.not_executed for trial in trials)
    if planned:
        metrics["arm_contacts"] = sum(trial.arm_contacts for trial in trials)
        metrics["plan_failures"] = Rate(failed, planned)
    result = BenchResult(
        suite="roco",
        parameters={"trials": experiment.trials or "as in the paper", "seed": experiment.seed},
        metrics=metrics,
        rows=[_row(key, own) for key, own in groups.items()],
        details=[_detail(record) for record in records],
        notes=[note for part in cases for note in part.notes],
    )
    played = [task for task in dict.fromkeys(task for _, task, _ in groups) if task in TASKS]
    return Report(result, {"Properties of the tasks": [properties(task) for task in played]} if played else {})


def variant(setting: Any) -> str:
    """Return a setting without its task in words, such as "dialogue, no history"."""
    ablations = [f"no {name}" for name, off in (("history", "none"), ("feedback", "off")) if setting.get(name) == off]
    others = [value for name, value in setting.items() if name not in ("task", "history", "feedback", "temperature")]
    warm = [f"temperature {value:g}"] if (value := setting.get("temperature")) else []
    return ", ".join([*others, *ablations, *warm])


def _row(key: tuple[str, str, str], records: Sequence[Record]) -> dict[str, Any]:
    model, task, team = key
    trials = [record.trial for record in records]
    solved = [trial.steps for trial in trials if trial.succeeded and trial.steps]
    steps, spent = sum(trial.steps for trial in trials), [one for trial in trials for one in trial.plan_cpu_s]
    failed = Counter(re.split("[:;]", trial.reason)[0] for trial in trials if not trial.succeeded)
    return {
        "task": task,
        "team": team,
        "model": model,
        **success_cells(trial.succeeded for trial in trials),
        "steps": round(fmean(solved), 1) if solved else None,
        "attempts": round(sum(trial.attempts for trial in trials) / steps, 2) if steps else None,
        "calls": round(fmean(trial.calls for trial in trials), 1),
        "not executed": sum(trial.not_executed for trial in trials),
        "idle": sum(trial.idle for trial in trials),
        "CPU p50, p95 [s]": ", ".join(f"{percentile(spent, share):.2f}" for share in (0.5, 0.95) if spent),
        "failed for": ", ".join(f"{count} {reason}" for reason, count in failed.most_common()),
        "in the paper": PART_OF[task].published.get((task, team), ""),
    }


def _detail(record: Record) -> dict[str, Any]:
    trial = {name: value for name, value in vars(record.trial).items() if name != "plan_cpu_s"}
    return {**record.case.setting, **record.case.instance, "model": record.model, **trial}
