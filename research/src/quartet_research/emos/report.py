"""Tables of an experiment with EMOS in the published form, with the published figures."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any

from quartet_benchmarks.prices import SPEAKERS
from quartet_benchmarks.result import BenchResult, Rate, percentile
from quartet_research.emos.options import ALL_TO_ONE, BASELINES, ORACLE, RANDOM, TRY_ALL, Experiment
from quartet_research.emos.published import (
    FIGURE_5,
    INCONSISTENCIES,
    NOTE,
    TABLE_4,
    TABLE_5,
    TABLE_6,
    TABLES_1_TO_3,
)
from quartet_research.emos.trial import SUBGOALS, Trial
from quartet_research.harness.study import Record, Report
from quartet_research.harness.tables import grouped, success_cells

TASK_OF = {"mobility": "T1", "perception": "T2", "distance": "T3", "height": "T3", "multi_floor": "T4"}
"""Tasks of the paper."""
SCALING = {"scale_robots": ("robots", TABLE_5), "scale_objects": ("objects", TABLE_6)}
PAPER = "in the paper"
BY_CONSTRUCTION = {
    "no-numbers": "chance by construction",
    "no-resume": "chance by construction",
    "no-discussion": "each tries every goal",
}
"""Labels of ablations whose rows follow from the rules of the reference speakers."""
NOTES = (
    NOTE,
    INCONSISTENCIES,
    "Success is by ground truth: all goals are true at the same step. A false success is a group that ends by itself, "
    "after calls that all ended well, without success. Sub-goals count once they were true; a delivery has two more: a "
    "robot has gone to the object, and to the place.",
    "'tokens' are of discussion and execution, as the published code counts them; the paper says 'during discussions'.",
    "Table 4 (formats of resumes; perception, 10 episodes) has published figures only: "
    + ", ".join(f"{name} {value}" for name, value in TABLE_4.items())
    + ". Speakers that parse would measure their parser.",
)
LOTS_NOTE = (
    f"Without numbers the {SPEAKERS} draw lots: these rows are chance by construction, with up to four draws after "
    "failures. Without discussion each robot tries every goal. Neither says what a language model would do."
)


class Group:
    """Trials of one row."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.trials: list[Trial] = [record.trial for record in records]

    @property
    def rate(self) -> Rate:
        """Success."""
        return Rate(sum(trial.succeeded for trial in self.trials), len(self.trials))

    def percent(self, *kinds: str) -> float | None:
        """Return the sub-goals of these kinds that were reached [%], of all trials together; None without one."""
        asked = sum(kind in kinds for trial in self.trials for kind in trial.subgoals)
        reached = sum(kind in kinds for trial in self.trials for kind in trial.reached)
        return round(100 * reached / asked, 1) if asked else None

    def mean(self, name: str) -> float:
        """Return the mean of a field."""
        return fmean(getattr(trial, name) for trial in self.trials)


def make_report(experiment: Experiment, records: Sequence[Record]) -> Report:
    """Return tables and notes of the trials."""
    known = _once(records)
    teams = [record for record in known if _framework(record) not in BASELINES]
    main = [record for record in known if record.case.instance["task"] in TASK_OF]
    lots = any(_framework(record) in BY_CONSTRUCTION and record.model.startswith(SPEAKERS) for record in teams)
    oracle = [record.trial for record in main if _framework(record) == ORACLE]
    rule = (
        f"Each of {len(oracle)} instances has exactly one assignment that succeeds; the published rule (a plan or its "
        f"swapped twin succeeds, not both) keeps {sum(one.kept_as_published for one in oracle)} of them."
    )
    result = BenchResult(
        suite="emos",
        parameters={"episodes": experiment.episodes or "as in the paper", "seed": experiment.seed},
        metrics=headline(known),
        rows=[*_rows(known, _by_task), *_rows(main, lambda record: (*_who(record), "all of T1 to T4"))],
        details=[_detail(record) for record in records],
        notes=[*NOTES, *([LOTS_NOTE] if lots else []), *([rule] if oracle else [])],
    )
    return Report(result, _sections(teams))


def headline(records: Sequence[Record]) -> dict[str, float | Rate]:
    """Return success by family, false successes, the baselines and the processor time of an episode [s].

    The first framework and model have plain names.
    """
    metrics: dict[str, float | Rate] = {}
    teams = [record for record in records if _framework(record) not in BASELINES]
    for at, ((name, model), same) in enumerate(grouped(teams, _who).items()):
        suffix = f" ({name}, {model})" if at else ""
        for task, own in grouped(same, _task).items():
            metrics[f"success_rate_{task}{suffix}"] = Group(own).rate
        metrics[f"false_successes{suffix}"] = sum(record.trial.false_success for record in same)
    rated = [record for record in records if _task(record) in TASK_OF]
    for name in (ORACLE, ALL_TO_ONE, RANDOM, TRY_ALL):
        if own := [record for record in rated if _framework(record) == name]:
            metrics[f"{name.replace('-', '_')}_rate"] = Group(own).rate
            if name == RANDOM:
                metrics["chance"] = Group(own).mean("chance")
    if spent := [record.trial.cpu_s for record in teams if record.trial.cpu_s]:
        metrics["episode_cpu_s_p50"] = percentile(spent, 0.5)
    return metrics


def _once(records: Sequence[Record]) -> list[Record]:
    """Return the records, those of baselines once: no model takes part."""
    baselines = {record.case.key: record for record in reversed(records) if _framework(record) in BASELINES}
    return [record for record in records if baselines.get(record.case.key, record) is record]


def _framework(record: Record) -> str:
    return record.case.setting["framework"]


def _task(record: Record) -> str:
    return record.case.instance["task"]


def _who(record: Record) -> tuple[str, str]:
    """Return the framework, with the robot of all-to-one, and the model."""
    robot = record.case.instance.get("robot")
    name = f"{_framework(record)} ({robot})" if robot else _framework(record)
    return name, "" if _framework(record) in BASELINES else record.model


def _by_task(record: Record) -> tuple[str, ...]:
    """Return the key of a row of Figure 5; of the scaling tasks also the size."""
    about = record.case.instance
    size = f", {about[SCALING[about['task']][0]]} {SCALING[about['task']][0]}" if about["task"] in SCALING else ""
    return (*_who(record), about["task"] + size)


def _rows(records: Sequence[Record], key: Callable[[Record], tuple[str, ...]]) -> list[dict[str, Any]]:
    """Return a row for each framework, model and task; with one model alone, rows do not name it."""
    several = len({record.model for record in records}) > 1
    rows: list[dict[str, Any]] = []
    for (name, model, task), own in grouped(records, key).items():
        group, framework = Group(own), _framework(own[0])
        failed = Counter(trial.reason.partition(":")[0] for trial in group.trials if not trial.succeeded)
        label = BY_CONSTRUCTION.get(framework, "") if model.startswith(SPEAKERS) else ""
        if framework == RANDOM:
            label = f"chance {group.mean('chance'):.2f}"
        rows.append(
            {
                "task": task,
                "framework": f"{name}: {label}" if label else name,
                **({"model": model} if several else {}),
                **success_cells(trial.succeeded for trial in group.trials),
                PAPER: _published(framework, task),
                "sub-goals %": group.percent(*SUBGOALS),
                "tokens": round(group.mean("tokens")),
                "in discussions": round(group.mean("discussion_tokens")),
                "steps": round(group.mean("steps")),
                "refused": round(group.mean("refusals"), 1),
                "false": sum(trial.false_success for trial in group.trials),
                "failed for": ", ".join(f"{count} {reason}" for reason, count in failed.most_common()),
            }
        )
    return rows


def _published(framework: str, task: str) -> str:
    """Return the published success; that of EMOS also for the behaviour of the published code."""
    method = "emos" if framework == "faithful" else framework
    kind, _, size = task.partition(", ")
    if kind in SCALING and method == "emos":
        return f"{SCALING[kind][1][int(size.split()[0])][0]:g} %"
    if kind in TASK_OF:
        found = FIGURE_5.get(method, {}).get(TASK_OF[kind])
        return "" if found is None else f"{TASK_OF[kind]} {found:g} %"
    return f"{TABLES_1_TO_3[method]['success %']:g} %" if method in TABLES_1_TO_3 and kind not in SCALING else ""


def _sections(teams: Sequence[Record]) -> dict[str, list[dict[str, Any]]]:
    """Return the published tables, each figure with the published one."""
    main = [record for record in teams if record.case.instance["task"] in TASK_OF]
    groups = {who: (_framework(own[0]), Group(own)) for who, own in grouped(main, _who).items()}
    tables: dict[str, list[dict[str, Any]]] = {
        "Table 1: success, sub-goals, tokens, steps": [],
        "Table 2: relative to EMOS": [],
        "Table 3: sub-goals reached [%]": [],
    }
    for (name, model), (framework, group) in groups.items():
        whole = groups.get(("emos", model), ("", None))[1]
        figures = (
            {
                "success %": round(100 * group.rate.value, 1),
                "sub-goals %": group.percent(*SUBGOALS),
                "tokens": round(group.mean("tokens")),
                "steps": round(group.mean("steps")),
            },
            {
                "relative success": _share(whole and whole.rate.value, group.rate.value),
                "relative tokens": _share(whole and whole.mean("tokens"), group.mean("tokens")),
                "token efficiency": _share(group.mean("tokens"), 100 * group.rate.value),
            },
            {f"{kind} %": group.percent(kind) for kind in SUBGOALS},
        )
        paper = TABLES_1_TO_3.get("emos" if framework == "faithful" else framework, {})
        for rows, own in zip(tables.values(), figures, strict=True):
            cells = {"framework": name, "model": model, "n": len(group.trials)}
            for column, value in own.items():
                cells |= {column: value, f"{column} {PAPER}": paper.get(column)}
            rows.append(cells)
    for number, (task, (what, paper)) in enumerate(SCALING.items(), 5):
        own = [record for record in teams if _task(record) == task]
        tables[f"Table {number}: by number of {what}"] = [
            {
                "framework": name,
                "model": model,
                what: size,
                **success_cells(record.trial.succeeded for record in same),
                f"success {PAPER}": f"{paper[size][0]:g} %" if framework == "emos" else None,
                "tokens": round(Group(same).mean("tokens")),
                f"tokens {PAPER}": paper[size][1] if framework == "emos" else None,
                "chance": round(Group(same).mean("chance"), 3),
            }
            for (name, model, framework, size), same in grouped(
                own, lambda one, what=what: (*_who(one), _framework(one), one.case.instance[what])
            ).items()
        ]
    return {heading: rows for heading, rows in tables.items() if rows}


def _share(whole: float | None, part: float) -> float | None:
    """Return whole / part; None if there is none."""
    return round(whole / part, 2) if whole is not None and part else None


def _detail(record: Record) -> dict[str, Any]:
    return {
        "model": record.model,
        **record.case.setting,
        **record.case.instance,
        **vars(record.trial),
        "false_success": record.trial.false_success,
    }
