"""Report of an experiment with planners, with the published figures."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quartet_benchmarks.result import BenchResult, Rate
from quartet_research.harness.study import Report
from quartet_research.planners.options import Experiment
from quartet_research.planners.table import (
    Entry,
    detail,
    harness_ms_per_step,
    headline,
    history_rows,
    main_rows,
    size_rows,
    success,
)
from quartet_research.planners.worlds import TABLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEAM_COLOURS = {"cmas": "tab:blue", "dmas": "tab:red", "hmas1": "tab:orange", "hmas2": "tab:green"}
WIDTH_IN, PANEL_IN = 4.0, 3.0
SPREAD = 0.03
"""Distance of the marks of two teams, in that of two sizes."""
NOTES = [
    "GPT-4 in the paper: success [%] / steps / API calls / tokens, each divided by the best framework of its trial. "
    "Here: steps allowed as in the paper, success on the last step counts, instances are our own draws.",
    "Steps, calls and tokens are means of successful trials; '/ best' divides them by the best team of the same trial "
    "first, as the paper does.",
]
TABLE_NOTE = (
    "At the table, the reference of steps is the number of moves of the box that needs most, or of all moves over all "
    "arms: often no plan reaches it, since arms must not meet. The paper gives no size of its table or number of boxes."
)


def make_report(suite: str, experiment: Experiment, entries: Sequence[Entry]) -> Report:
    """Return tables, notes and picture of the trials."""
    kinds = sorted({(entry.model, entry.history) for entry in entries})
    metrics: dict[str, float | Rate] = {}
    for model, history in kinds:
        own = [entry for entry in entries if (entry.model, entry.history) == (model, history)]
        suffix = f" ({model}, {history})" if len(kinds) > 1 else ""
        metrics |= {name + suffix: value for name, value in headline(own).items()}
    metrics["harness_ms_per_step"] = harness_ms_per_step(entries)
    notes = list(NOTES)
    if any(entry.world == TABLE for entry in entries):
        metrics["arm_contacts"] = sum(entry.trial.reason.startswith("collision") for entry in entries)
        notes.append(TABLE_NOTE)
    facts = {"trials": experiment.trials, "seed": experiment.seed}
    result = BenchResult(suite, facts, metrics, main_rows(entries), [detail(entry) for entry in entries], notes)
    sections = {"Success by number of robots": size_rows(entries)}
    if ablation := history_rows(entries):
        sections = {"By history (GPT-4: none / state-action / dialogue)": ablation, **sections}
    return Report(result, sections, lambda: draw_success(entries))


def draw_success(entries: Sequence[Entry]) -> "Figure":
    """Return the success of each team against the number of robots: a row for each model and history."""
    from matplotlib.figure import Figure

    kinds = sorted({(entry.model, entry.history) for entry in entries})
    worlds = list(dict.fromkeys(entry.world for entry in entries))
    teams = sorted({entry.team for entry in entries})
    figure = Figure(figsize=(WIDTH_IN * len(worlds), PANEL_IN * len(kinds) + 0.5), layout="constrained")
    axes = figure.subplots(len(kinds), len(worlds), squeeze=False, sharey=True)
    for row, (model, history) in zip(axes, kinds, strict=True):
        for panel, world in zip(row, worlds, strict=True):
            own = [e for e in entries if (e.model, e.history, e.world) == (model, history, world)]
            sizes = sorted({entry.robots for entry in own})
            for index, team in enumerate(teams):
                rates = [success(e for e in own if (e.team, e.robots) == (team, size)) for size in sizes]
                shift = (index - (len(teams) - 1) / 2) * SPREAD
                values = [100 * rate.value for rate in rates]
                low = [100 * (rate.value - rate.interval[0]) for rate in rates]
                high = [100 * (rate.interval[1] - rate.value) for rate in rates]
                places = [at + shift for at in range(len(sizes))]
                colour = TEAM_COLOURS.get(team)
                panel.errorbar(places, values, yerr=[low, high], label=team, color=colour, marker="o", capsize=3)
            panel.set_xticks(range(len(sizes)), [str(size) for size in sizes])
            panel.set_title(f"{world}\n{model}, history {history}", fontsize=9)
            panel.set_xlabel("robots")
            panel.set_xlim(-0.5, len(sizes) - 0.5)
            panel.set_ylim(-4, 104)
            panel.grid(alpha=0.3)
        row[0].set_ylabel("success [%], 95 % interval")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=len(teams))
    return figure
