"""Tables of RoCo's trials, the published figures beside them."""

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from quartet_benchmarks.result import BenchResult, Rate, percentile
from quartet_research.harness.study import Record, Report
from quartet_research.roco.options import Experiment
from quartet_research.roco.published import PUBLISHED
from quartet_research.roco.trial import STEPS, STEPS_WITHOUT_FEEDBACK
from quartet_simulation.table_tasks import TASKS

NOTES = [
    f"Success is by ground truth, within {STEPS} steps ({STEPS_WITHOUT_FEEDBACK} without feedback). Steps are means of "
    "successful trials, attempts are plans proposed a step.",
    "GPT-4 in the paper: success; steps, attempts a step, of 20 trials. There a grasp is a weld; here fingers hold by "
    "friction and cups by suction, and arms, objects and their places are our own where the paper has none.",
]


def make_report(experiment: Experiment, records: Sequence[Record]) -> Report:
    """Return tables and notes of the trials."""
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        setting = record.case.setting
        groups.setdefault((record.model, setting["task"], variant(setting)), []).append(record)
    metrics: dict[str, float | Rate] = {}
    for task in dict.fromkeys(record.case.setting["task"] for record in records):
        own = [record.trial.succeeded for record in records if record.case.setting["task"] == task]
        metrics[f"success_rate_{task}"] = Rate(sum(own), len(own))
    trials = [record.trial for record in records]
    # A team never claims success; a trial ends when ground truth has it.
    metrics["arm_contacts"] = sum(trial.arm_contacts for trial in trials)
    for arms in sorted({len(TASKS[record.case.setting["task"]].arms) for record in records}):
        spent = [
            seconds
            for record in records
            if len(TASKS[record.case.setting["task"]].arms) == arms
            for seconds in record.trial.plan_cpu_s
        ]
        metrics[f"plan_cpu_s_p50_{arms}"] = percentile(spent, 0.5)
        metrics[f"plan_cpu_s_p95_{arms}"] = percentile(spent, 0.95)
    executed = sum(len(record.trial.plan_cpu_s) for record in records)
    metrics["plan_failures"] = sum(trial.not_executed for trial in trials) / max(1, executed)
    result = BenchResult(
        suite="roco",
        parameters={"trials": experiment.trials, "seed": experiment.seed},
        metrics=metrics,
        rows=[_row(key, own) for key, own in groups.items()],
        details=[_detail(record) for record in records],
        notes=list(NOTES),
    )
    return Report(result, {})


def variant(setting: Any) -> str:
    """Return a mode and its ablations in words."""
    ablations = [name for name, off in (("history", "none"), ("feedback", "off")) if setting[name] == off]
    return ", ".join([setting["framework"], *(f"no {name}" for name in ablations)])


def _row(key: tuple[str, str, str], records: Sequence[Record]) -> dict[str, Any]:
    model, task, team = key
    trials = [record.trial for record in records]
    rate = Rate(sum(trial.succeeded for trial in trials), len(trials))
    low, high = rate.interval
    solved = [trial.steps for trial in trials if trial.succeeded]
    failed = Counter(trial.reason.partition(":")[0] for trial in trials if not trial.succeeded)
    return {
        "task": task,
        "team": team,
        "model": model,
        "success": f"{rate.successes}/{rate.n}",
        "95 %": f"{100 * low:.0f} to {100 * high:.0f}",
        "steps": round(fmean(solved), 1) if solved else None,
        "attempts": round(sum(trial.attempts for trial in trials) / max(1, sum(trial.steps for trial in trials)), 1),
        "calls": round(fmean(trial.calls for trial in trials), 1),
        "not executed": sum(trial.not_executed for trial in trials),
        "failed for": ", ".join(f"{count} {reason}" for reason, count in failed.most_common()),
        "GPT-4 in the paper": PUBLISHED.get((task, team), ""),
    }


def _detail(record: Record) -> dict[str, Any]:
    trial = {name: value for name, value in vars(record.trial).items() if name != "plan_cpu_s"}
    return {**record.case.setting, **record.case.instance, "model": record.model, **trial}
